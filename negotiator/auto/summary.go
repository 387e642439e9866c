package auto

import (
	"cmp"
	"slices"
)

// Summary says how often a chooser chose and changed, and who was in charge, the longest first.
type Summary struct {
	Choices int `json:"choices"`
	Changes int `json:"changes"`
	Lifted  int `json:"lifted"` // promises, by changes to candidates that give none
	// Base is the base at last, and Bases is how often another one became it.
	Base   string  `json:"base"`
	Bases  int     `json:"base_changes"`
	Shares []Share `json:"shares"`
}

// Share is the share of the time in which a candidate was in charge.
type Share struct {
	Name string  `json:"name"`
	Of   float64 `json:"share"`
	// LeftOut says that the candidate failed and has been left out since.
	LeftOut bool `json:"left_out,omitempty"`
}

// Most returns the first of the shares, at most n, and those of all that are left out.
func (s *Summary) Most(n int) []Share {
	most := slices.Clone(s.Shares[:min(n, len(s.Shares))])
	for _, share := range s.Shares[len(most):] {
		if share.LeftOut {
			most = append(most, share)
		}
	}
	return most
}

// Summary sums up what was chosen so far.
func (c *Chooser) Summary() *Summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Summary{Choices: c.choices, Changes: c.made, Lifted: c.lifted, Base: c.candidates[c.base].Name, Bases: c.rebased}
	var all float64
	for _, t := range c.charge {
		all += float64(t)
	}
	for i, t := range c.charge {
		if left := c.faults[i] != nil; t > 0 || left {
			s.Shares = append(s.Shares, Share{c.candidates[i].Name, float64(t) / max(all, 1), left})
		}
	}
	slices.SortStableFunc(s.Shares, func(a, b Share) int { return cmp.Compare(b.Of, a.Of) })
	return s
}
