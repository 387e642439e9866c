package condorsim

import "maps"

// Measures are all numbers of the run by name.
func (r *Result) Measures() map[string]float64 {
	all := maps.Collect(r.Metrics().All())
	all["reserved_idle"], all["cycles"] = r.ReservedIdle, float64(r.Cycles)
	return all
}
