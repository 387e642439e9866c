package main

import (
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// readPool reads the pool in a file, or a built-in one if no file has that name.
func readPool(name string, logger hclog.Logger) (*pools.Description, error) {
	pool, err := pools.Find(name, configs.Files(), negotiator.DefaultSchema())
	if err != nil {
		return nil, err
	}
	logger.Info("read the pool", "slots", len(pool.Slots), "resources", strings.Join(pool.Schema.Resources, ","))
	if pool.LeftOut.Any() {
		logger.Info(pools.LeftOutText, pool.LeftOut.Counts()...)
	}
	return pool, nil
}
