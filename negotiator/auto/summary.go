package auto

import (
	"cmp"
	"slices"
)

// Summary says how often a chooser chose and changed, and who was in charge, the longest first.
type Summary struct {
	Choices int     `json:"choices"`
	Changes int     `json:"changes"`
	Lifted  int     `json:"lifted"` // promises, by changes to candidates that give none
	Shares  []Share `json:"shares"`
}

// Share is the share of the time in which a candidate was in charge.
type Share struct {
	Name string  `json:"name"`
	Of   float64 `json:"share"`
}

// Most returns the first of the shares, at most n.
func (s *Summary) Most(n int) []Share { return s.Shares[:min(n, len(s.Shares))] }

// Summary sums up what was chosen so far.
func (c *Chooser) Summary() *Summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Summary{Choices: c.choices, Changes: c.made, Lifted: c.lifted}
	var all float64
	for _, t := range c.charge {
		all += float64(t)
	}
	for i, t := range c.charge {
		if t > 0 {
			s.Shares = append(s.Shares, Share{c.candidates[i].Name, float64(t) / all})
		}
	}
	slices.SortStableFunc(s.Shares, func(a, b Share) int { return cmp.Compare(b.Of, a.Of) })
	return s
}
