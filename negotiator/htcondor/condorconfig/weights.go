package condorconfig

import (
	"cmp"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// weights returns how the pool's slots are weighed, and which of them count for its size. The old
// name of a knob counts where the new one is not set. It errs if FORCE_NEGOTIATOR_SLOT_WEIGHT is
// neither true nor false.
func (c *Config) weights() (config.Weights, error) {
	forced, err := c.Bool("FORCE_NEGOTIATOR_SLOT_WEIGHT")
	weight := c.Text("SLOT_WEIGHT")
	if strings.EqualFold(weight, "Cpus") { // as by default
		weight = ""
	}
	return config.Weights{
		SlotWeight: weight, Forced: forced,
		PoolSize: cmp.Or(c.Text("NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"), c.Text("GROUP_DYNAMIC_MACH_CONSTRAINT")),
	}, err
}
