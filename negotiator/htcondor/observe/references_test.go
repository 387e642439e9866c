package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// numbered joins a text with 0, 1, 2 and so on in it.
func numbered(n int, format string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, format, i)
	}
	return all.String()
}

// Ads of a few kB whose references took seconds to follow, and minutes in as large an ad as is
// read.
var worstReferences = map[string]string{
	"all refer to many": "hub = {" + numbered(3000, "x%d,") + "1}\n" + numbered(1400, "a%d = hub\n"),
	"all refer to all":  numbered(3000, "a%d = {MY, 1}\n"),
	"a dear selection": "s = ifThenElse(regexp(\"(a*)*(a|aa)*(a*)*b\", \"" + strings.Repeat("a", 1000) +
		"\"), [x=1], [x=1])\n" + numbered(800, "a%d = s.x\n"),
}

// A job whose ad refers to too much is not planned and is told why, after as many steps as an ad
// may take.
func TestAJobThatRefersToTooMuch(t *testing.T) {
	for name, text := range worstReferences {
		t.Run(name, func(t *testing.T) {
			o := quiet()
			ad, err := classad.ParseOld(job(text))
			require.NoError(t, err)
			spec, _ := o.specOf(ad, "schedd")
			require.ErrorContains(t, spec.Wrong, "its expressions refer to too much")
			require.Empty(t, spec.refers)
			require.Equal(t, maxReferSteps-usualReferSteps, o.referSteps["alice@test"])
		})
	}
}

// A user's jobs together may take only so many steps; those of others are planned, and usual jobs
// of the same user as well.
func TestAUserWhoseJobsReferToTooMuch(t *testing.T) {
	o := quiet()
	specOf := func(user, more string) *Spec {
		ad, err := classad.ParseOld(strings.Replace(job(""), "alice", user, 1) + more)
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "schedd")
		return spec
	}
	dear := func(i int) string {
		return fmt.Sprintf("RequestCpus = %d\n", i+1) + worstReferences["all refer to many"]
	}
	for i := range maxReferOfUser / (maxReferSteps - usualReferSteps) {
		require.Equal(t, errRefersTooMuch, specOf("eve", dear(i)).Wrong, i)
	}
	for i := range 10 {
		spec := specOf("eve", dear(1000+i))
		require.Equal(t, errUserRefersTooMuch, spec.Wrong, "%d %v", i, o.referSteps)
		require.True(t, spec.crowded, "tried again later")
	}
	require.LessOrEqual(t, o.referSteps["eve@test"], maxReferOfUser+usualReferSteps)
	require.NoError(t, specOf("eve", "Requirements = TARGET.Arch == \"X\" && MY.RequestCpus < 2\n").Wrong)
	require.NoError(t, specOf("bob", "Requirements = TARGET.Arch == \"X\"\n").Wrong)
}

// Many users whose jobs refer to too much, who may be one user under many names, are limited
// together, and leave something to others.
func TestManyUsersWhoseJobsReferToTooMuch(t *testing.T) {
	o := quiet()
	list := "Requirements = false" + numbered(1000, ` || TARGET.Machine == "node%d"`) + "\n"
	specOf := func(user, more string) *Spec {
		ad, err := classad.ParseOld(strings.Replace(job(""), "alice", user, 1) + more)
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "schedd")
		return spec
	}
	for i := range 200 {
		specOf(fmt.Sprint("eve", i%10), fmt.Sprintf("RequestCpus = %d\n", i+1)+worstReferences["all refer to all"])
	}
	require.Greater(t, o.referStepsOfAll, maxReferOfAll/2)
	require.NoError(t, specOf("bob", list).Wrong)
	require.LessOrEqual(t, o.referStepsOfAll, maxReferOfAll)
	o.recall()
	require.Zero(t, o.referStepsOfAll)
}

// A job that names a thousand machines may refer to them.
func TestAJobThatNamesAThousandMachines(t *testing.T) {
	o := quiet()
	ad, err := classad.ParseOld(job("Requirements = false" + numbered(1000, ` || TARGET.Machine == "node%d"`) + "\n"))
	require.NoError(t, err)
	spec, _ := o.specOf(ad, "schedd")
	require.NoError(t, spec.Wrong)
	require.Equal(t, []string{"machine"}, spec.refers)
	require.Less(t, o.referSteps["alice@test"], maxReferSteps/2)
}

// TestLongNames has jobs, slots and schedds refer to attributes with names of any length: no long
// one is asked for, nor kept.
func TestLongNames(t *testing.T) {
	o := quiet()
	long := strings.Repeat("n", 50_000)
	asked := func() (longest int) {
		for _, list := range [][]string{o.jobAttributes.projection(), o.slotAttributes.projection(), o.curbed()} {
			for _, name := range list {
				longest = max(longest, len(name))
			}
		}
		return longest
	}
	for i := range 20 {
		ad, err := classad.ParseOld(job(fmt.Sprintf("Requirements = TARGET.%s%d > 1 && TARGET.Memory > 1 && %s\n", long, i, long)))
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "schedd")
		require.NoError(t, spec.Wrong)
		require.Equal(t, []string{"memory"}, spec.refers)
	}
	e, err := classad.ParseExpr("MY." + long + " > 1 || " + long)
	require.NoError(t, err)
	ad := classad.New()
	ad.Set("CurbMatchmaking", e)
	o.schedds["s@test"] = &schedd{}
	o.readCurb(o.schedds["s@test"], ad, lookOf(1))
	o.jobAttributes.referTo(e)
	require.LessOrEqual(t, asked(), longestName)
	for _, names := range o.refersOf {
		for name := range names {
			require.LessOrEqual(t, len(name), longestName)
		}
	}
}

// TestHostsOfJobs reads no more hosts than are needed to see that there are too many.
func TestHostsOfJobs(t *testing.T) {
	list := `RemoteHosts = "` + numbered(20_000, "slot%d@x,") + "\"\n"
	for more, want := range map[string]int{
		"JobUniverse = 5\n" + list: 0, "JobUniverse = 5\nRemoteHost = \"slot1@x\"\n" + list: 1,
		"RemoteHost" + list[len("RemoteHosts"):]: 2, "JobUniverse = 11\nMaxHosts = 3\n" + list: 4, "JobUniverse = 11\nMaxHosts = -1\n" + list: 2,
		"JobUniverse = 11\nMaxHosts = 1000000\n" + list: 20_000, "RemoteHost = \"slot1@x\"\n": 1, "": 0,
	} {
		ad, err := classad.ParseOld(more)
		require.NoError(t, err)
		require.Len(t, quiet().readGroup(ad).Hosts, want, "%.50s", more)
	}
}

// TestLongReasons has jobs be wrong in ways that quote what they say: the reasons are short, in one
// line, and can be printed.
func TestLongReasons(t *testing.T) {
	long := strings.Repeat(`x\n\x1b`, 40_000)
	for name, more := range map[string]string{
		"RequestCpus is":                    `RequestCpus = "` + long + `"`,
		"MaxHosts is":                       "JobUniverse = 11\nMaxHosts = \"" + long + `"`,
		"ConcurrencyLimits have more than":  `ConcurrencyLimits = "` + strings.Repeat("ab,", 80_000) + `"`,
		"ConcurrencyLimits name more than":  `ConcurrencyLimits = "` + numbered(2000, "a%d,") + `"`,
		"one of its ConcurrencyLimits has":  `ConcurrencyLimits = "` + long + `"`,
		"attributes of slots: must be at m": "Requirements = true" + numbered(200, " || TARGET.A%d"),
	} {
		o := quiet()
		ad, err := classad.ParseOld(job(more + "\n"))
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "schedd")
		require.ErrorContains(t, spec.Wrong, name)
		require.Less(t, len(spec.Wrong.Error()), 2100)
		require.Equal(t, spec.Wrong.Error(), backfill.AsReason(spec.Wrong.Error()))
		require.LessOrEqual(t, len(spec.Limited), 50)
	}
}

// TestSharedLimits has jobs with the same limits share them, and keeps no long lists for that.
func TestSharedLimits(t *testing.T) {
	o := quiet()
	specOf := func(i int, limits string) *Spec {
		ad, err := classad.ParseOld(job(fmt.Sprintf("RequestCpus = %d\nConcurrencyLimits = %q\n", i+1, limits)))
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "schedd")
		require.NoError(t, spec.Wrong)
		return spec
	}
	require.Same(t, &specOf(1, "sw,lic.b").Limited[0], &specOf(2, "sw,lic.b").Limited[0])
	require.NotSame(t, &specOf(3, "sw,lic.c").Limited[0], &specOf(4, "sw,lic.b").Limited[0])
	for i := range 12_000 {
		specOf(i, fmt.Sprintf("l%d", i))
	}
	require.LessOrEqual(t, len(o.limits), 10_000)
	before := len(o.limits)
	specOf(5, numbered(50, "long%d,"))
	require.Len(t, o.limits, before)
}
