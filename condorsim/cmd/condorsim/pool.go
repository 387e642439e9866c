package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim/pools"
	"github.com/condor-backfill/condor-backfill/configs"
)

// readPool reads the pool in a file, or one that is built in if no file has that
// name.
func readPool(name string, logger hclog.Logger) (*pools.Pool, error) {
	pool, err := pools.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, os.PathSeparator) {
		pool, err = builtInPool(name, err)
	}
	if err != nil {
		return nil, err
	}
	logger.Info("read the pool", "slots", len(pool.Slots), "resources", strings.Join(pool.Schema.Resources, ","))
	if l := pool.LeftOut; l != (pools.LeftOut{}) {
		logger.Info("left out ads that are no slots of the pool", "dynamic", l.Dynamic, "offline", l.Offline, "backfill", l.Backfill, "duplicate", l.Duplicates, "other", l.Others)
	}
	return pool, nil
}

// builtInPool reads a pool that comes with the program.
func builtInPool(name string, missing error) (*pools.Pool, error) {
	const folder = "pools"
	entries, err := fs.ReadDir(configs.Files(), folder)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, e := range entries {
		base := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		if base != name {
			known = append(known, base)
			continue
		}
		file, openErr := configs.Files().Open(path.Join(folder, e.Name()))
		if openErr != nil {
			return nil, openErr
		}
		defer file.Close() //nolint:errcheck // it is in memory
		return pools.Read(file, e.Name())
	}
	return nil, fmt.Errorf("%w; built in are %s", missing, strings.Join(known, ", "))
}
