package estimate

import "fmt"

// Summary names the estimators for each use of an estimate.
type Summary struct {
	Order    string            `json:"order"`
	Backfill string            `json:"backfill"`
	Running  string            `json:"running"`
	Options  map[string]string `json:"options,omitempty"`
	// Learned is how many jobs they learned from beforehand.
	Learned int `json:"learned,omitempty"`
}

// String names one estimator if all uses have the same, else one for each use; nil: jobs are planned
// with their requested times.
func (s *Summary) String() string {
	if s == nil {
		return "requested"
	}
	if s.Backfill == s.Order && s.Running == s.Order {
		return s.Order
	}
	return fmt.Sprintf("order %s, backfill %s, running %s", s.Order, s.Backfill, s.Running)
}

// Summary sums up valid settings under a policy with or without guarantees; learned is the number of
// jobs that the estimators knew at the start. It returns nil for the default estimators if they knew
// no jobs.
func (s Settings) Summary(guarantees bool, learned int) *Summary {
	all := &Summary{Options: s.Options, Learned: learned}
	all.Order, all.Backfill, all.Running, _ = s.Uses(guarantees)
	if learned == 0 && all.String() == (*Summary)(nil).String() {
		return nil
	}
	return all
}
