package condorconfig

import (
	"cmp"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// weigh completes how the pool's slots are weighed, given what the knobs of these names say: cpus
// are the default, and the old name of a knob counts where the new one is not set.
func (c *Config) weigh(w *config.Weights) {
	if strings.EqualFold(w.SlotWeight, "Cpus") {
		w.SlotWeight = ""
	}
	w.PoolSize = cmp.Or(w.PoolSize, c.Text("GROUP_DYNAMIC_MACH_CONSTRAINT"))
}
