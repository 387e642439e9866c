package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Simulated has the settings for a simulated pool; a real one has those of HTCondor's configuration.
type Simulated struct {
	// PriorityHalfLife is the time in which what a user has used comes to count half, and
	// PriorityFactors are the factors of users, as numbers.
	PriorityHalfLife time.Duration
	PriorityFactors  map[string]string
}

var onSimulatedPools = []Setting{
	set(func(c *Config) *time.Duration { return &c.PriorityHalfLife }, 24*time.Hour, Setting{
		Key: "priority_halflife", Restart: true,
		Doc:  "Under the order fairshare: in what time what a user has used comes to count half.",
		More: "A real pool has HTCondor's PRIORITY_HALFLIFE.",
		Check: func(c *Config) error {
			return must(c.PriorityHalfLife >= time.Second && c.PriorityHalfLife%time.Second == 0, c.PriorityHalfLife,
				"must be at least 1s, in whole seconds")
		},
	}),
	set(func(c *Config) *map[string]string { return &c.PriorityFactors }, nil, Setting{
		Key: "priority_factors", Restart: true,
		Doc: "Under the order fairshare: users' priority factors; 1000 where none is said, and twice that stands for half " +
			"the share.",
		More:    "On a real pool condor_userprio sets them.",
		Example: map[string]string{"bob": "10000"},
		Check: func(c *Config) error {
			_, err := c.Factors()
			return err
		},
	}),
}

// Factors returns the priority factors of users.
func (s Simulated) Factors() (map[string]float64, error) {
	factors := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(s.PriorityFactors)) {
		f, err := strconv.ParseFloat(s.PriorityFactors[name], 64)
		if err != nil || !(f >= 1) {
			return nil, fmt.Errorf("the priority factor %q of %s: must be a number from 1 on; HTCondor's default is 1000",
				s.PriorityFactors[name], name)
		}
		factors[name] = f
	}
	return factors, nil
}
