package rehearsal

import (
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// load reads the pool and its jobs, from files or the built-in ones.
func load(s config.Config, from *source.Settings) (*condorsim.Workload, error) {
	if s.OnRealPool() {
		return nil, from.Locate(fmt.Errorf("pool %s: a real pool cannot be looked at as a simulated one", s.Pool), "pool")
	}
	pool, err := readPool(s)
	if err != nil {
		return nil, from.Locate(err, "pool")
	}
	w, err := readWorkload(s, pool)
	if err != nil {
		return nil, from.Locate(err, "workload")
	}
	return w, nil
}

// readPool reads slot ads or the description of a pool.
func readPool(s config.Config) (*pools.Description, error) {
	file := s.Pool
	if file == "simulated" {
		file = ""
	}
	if _, err := os.Stat(file); file != "" && (err != nil || hasExtension(file, ".yaml", ".yml")) {
		pool, err := pools.Find(file, configs.Files())
		if err == nil { // the description says which resources there are
			given := s.Schema()
			pool.Schema.Estimates, pool.Schema.Labels, pool.Schema.SlotEnds = given.Estimates, given.Labels, given.SlotEnds
		}
		return pool, err
	}
	pool := &pools.Description{Schema: s.Schema()}
	err := readAds(file, configs.FourNodes, func(file string, ads iter.Seq2[*classad.ClassAd, error]) (err error) {
		pool.Slots, err = condorsim.SlotsFromAds(file, pool.Schema, ads)
		if err == nil {
			err = negotiator.AddMachineResources(&pool.Schema, pool.Slots)
		}
		negotiator.CountJobs(&pool.Schema, pool.Slots)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the pool: %w", err)
	}
	return pool, nil
}

// readWorkload reads a trace, or job ads.
func readWorkload(s config.Config, pool *pools.Description) (*condorsim.Workload, error) {
	if hasExtension(s.Workload, ".swf", ".swf.gz") {
		bounds := pool.Bounds()
		read, err := formats.ReadFile(s.Workload, formats.Options{
			Options: workload.Options{CPUs: bounds.Processors, Memory: bounds.Memory},
		})
		if err != nil {
			return nil, fmt.Errorf("read the workload: %w", err)
		}
		return condorsim.OnPool(read.Trace, pool)
	}
	var w *condorsim.Workload
	err := readAds(s.Workload, configs.NPB54, func(file string, ads iter.Seq2[*classad.ClassAd, error]) (err error) {
		w, err = condorsim.FromAds(file, pool.Schema, pool.Slots, ads)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	if err = w.On(pool); err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	return w, nil
}

// hasExtension reports whether a file's name ends with one of these extensions.
func hasExtension(file string, extensions ...string) bool {
	return slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(file, e) })
}

// readAds calls the callback with the name and the ads of a file; "" is the built-in file.
func readAds(file, builtIn string, use func(string, iter.Seq2[*classad.ClassAd, error]) error) error {
	var in io.ReadCloser
	var err error
	if file == "" {
		file = builtIn
		in, err = configs.Files().Open(builtIn)
	} else {
		in, err = os.Open(file)
	}
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	return use(file, classad.ReadAds(in, file))
}
