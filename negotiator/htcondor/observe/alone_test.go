package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// What a job takes counts as its ad says it, on slots that lack what the ad asks for and lacks.
func TestAloneRequiresSlotsWithoutWhatIsMissing(t *testing.T) {
	o := quiet()
	for request, c := range map[string]struct {
		memory       int64
		requirements string
		wrong        bool
	}{
		"DiskUsage":                       {0, "(TARGET.Arch == \"X\") && DiskUsage is undefined", false},
		"ifThenElse(w is 1 || W, v, 300)": {0, "(TARGET.Arch == \"X\") && w is undefined", false},
		"MemoryUsage ?: ImageSize / 1024": {2, "(TARGET.Arch == \"X\") && MemoryUsage is undefined", false},
		"MY.MemoryUsage ?: 7":             {7, "TARGET.Arch == \"X\"", false},
		"10":                              {10, "TARGET.Arch == \"X\"", false},
		"undefined":                       {0, "TARGET.Arch == \"X\"", false},
		"TotalMemory ?: 10":               {0, "", true},
		"DetectedMemory ?: 10":            {0, "", true},
		"memory ?: 10":                    {0, "", true},
		"Id ?: 10":                        {0, "", true},
		"BackfillRunBound ?: 10":          {0, "", true},
		"TARGET.x ?: 10":                  {0, "", true},
	} {
		ad, err := classad.ParseOld(job("Requirements = TARGET.Arch == \"X\"\nImageSize = 2048\nRequestMemory = " + request))
		require.NoError(t, err)
		s, _ := o.specOf(ad, "s@test")
		require.Equal(t, c.wrong, s.Wrong != nil, "%s: %v", request, s.Wrong)
		if c.wrong {
			continue
		}
		require.Equal(t, backfill.Vector{1, c.memory, 1}, s.Request, request)
		e, _ := s.Ad.Lookup("Requirements")
		require.Equal(t, c.requirements, e.String(), request)
	}
}

// Many jobs with the same Requirements share what is made of them.
func TestAloneSharesRequirements(t *testing.T) {
	o := quiet()
	var made []*classad.Expr
	for _, memory := range []string{"1", "2"} {
		ad, err := o.parser.ParseOld(job("RequestMemory = MemoryUsage ?: " + memory + "\nRequirements = TARGET.Arch == \"X\""))
		require.NoError(t, err)
		s, _ := o.specOf(ad, "s@test")
		e, _ := s.Ad.Lookup("Requirements")
		made = append(made, e)
	}
	require.Same(t, made[0], made[1])
}
