package main

import (
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/configs"
)

// readPool reads the pool in a file, or a built-in one if no file has that name.
func readPool(name string, logger hclog.Logger) (*pools.Description, error) {
	pool, err := pools.Find(name, configs.Files())
	if err != nil {
		return nil, err
	}
	logger.Info("read the pool", "slots", len(pool.Slots), "resources", strings.Join(pool.Schema.Resources, ","))
	if l := pool.LeftOut; l != (pools.LeftOut{}) {
		logger.Info("left out ads that are no slots of the pool", "dynamic", l.Dynamic, "offline", l.Offline,
			"backfill", l.Backfill, "duplicate", l.Duplicates, "other", l.Others)
	}
	return pool, nil
}
