package rehearsal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// load reads the pool and its jobs, from files or the built-in ones, and logs what was left out.
// It readies the pool for a job that is asked about; nil: none is.
func load(s config.Config, from *source.Settings, asked *negotiator.Job, logger hclog.Logger,
) (*condorsim.Workload, error) {
	if s.OnRealPool() {
		return nil, from.Locate(fmt.Errorf("pool %s: a real pool cannot be looked at as a simulated one", s.Pool), "pool")
	}
	pool, err := readPool(s)
	if err != nil {
		return nil, from.Locate(err, "pool")
	}
	if pool.LeftOut.Any() {
		logger.Info(pools.LeftOutText, pool.LeftOut.Counts()...)
	}
	w, err := readWorkload(s, pool, from, asked, logger)
	if err != nil {
		return nil, from.Locate(fmt.Errorf("read the workload: %w", err), "workload")
	}
	for _, left := range w.Cleaning.Dropped() {
		logger.Info("left out job lines", "count", left.Jobs, "why", left.Why)
	}
	return w, nil
}

// embedded names the pool that is built in.
const embedded = "simulated"

// readPool reads slot ads or the description of a pool.
func readPool(s config.Config) (*pools.Description, error) {
	if s.Pool != "" && s.Pool != embedded {
		return pools.Find(s.Pool, configs.Files(), s.Schema())
	}
	file, err := configs.Files().Open(configs.FourNodes)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is in memory
	return pools.ReadBy(s.Schema(), file, configs.FourNodes)
}

// readWorkload reads a file of jobs in any format, and logs whose preceding jobs are ignored. Ads keep all
// attributes, as any may be asked for.
func readWorkload(s config.Config, pool *pools.Description, from *source.Settings, asked *negotiator.Job,
	logger hclog.Logger,
) (*condorsim.Workload, error) {
	in, name, err := open(s.Workload)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read
	o := condorsim.ReadingFor(pool, formats.Options{Ads: history.Options{Whole: true}})
	o.Dependencies = workload.Dependencies(s.Dependencies)
	jobs, err := formats.Read(in, name, o)
	if err != nil {
		return nil, err
	}
	if len(jobs.Jobs) == 0 {
		return nil, jobs.Nothing(name, "condorsim workload clean --clean none")
	}
	if jobs.History == nil && s.History == "" && from.Given("estimate_attributes") {
		return nil, fmt.Errorf("%s: estimate_attributes (--estimate-attr) say how job ads are read; it holds none", name)
	}
	for _, warning := range jobs.Misreadings() {
		logger.Warn(warning)
	}
	return condorsim.Queued(jobs, pool, asked)
}

// open opens a file of jobs, or what is built in under that name; "" is the built-in jobs. It returns the
// name for errors.
func open(file string) (fs.File, string, error) {
	if file == "" {
		in, err := configs.Files().Open(configs.NPB54)
		return in, configs.NPB54, err
	}
	files := formats.Files{Stdin: os.Stdin, BuiltIn: configs.Files(), TracePath: configs.TracePath}
	in, err := files.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; built in are %s", err, strings.Join(configs.Traces(), ", "))
	}
	return in, formats.Shown(file), err
}
