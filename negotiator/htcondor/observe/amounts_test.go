package observe

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestRoundUp says what startds without a consumption policy make of an amount.
func TestRoundUp(t *testing.T) {
	for _, c := range []struct {
		resource      string
		amount, total int64
		want          int64
	}{
		{"cpus", 3, 8, 3},
		{"gpus", 0, 8, 0},
		{"memory", 0, 4096, 0},
		{"memory", 1, 4096, 128},
		{"memory", 128, 4096, 128},
		{"Memory", 129, 4096, 256},
		{"memory", 4090, 4090, 4096}, // more than there is
		{"disk", 0, 1_000_000, 0},
		{"disk", 1, 0, 1024},
		{"disk", 1025, 999, 2048},               // no thousandth of so little
		{"disk", 1, 1_000_000, 2000},            // 1024, in steps of 1000
		{"disk", 1, 1_000_001, 2002},            // 1024, in steps of 1001
		{"Disk", 5000, 10_240_000, 10_240},      // 5120, in steps of 10,240
		{"disk", 999_999, 1_000_000, 1_000_448}, // no more than all of it, but for whole steps of 1024
	} {
		t.Run(fmt.Sprint(c.resource, " ", c.amount, " of ", c.total), func(t *testing.T) {
			require.Equal(t, c.want, roundUp(c.resource, c.amount, c.total))
		})
	}
}

// TestAmounts says what a slot's ad says that there is: whole numbers, and nothing where it is
// unclear.
func TestAmounts(t *testing.T) {
	ad, err := classad.ParseOld("Cpus = 3.9\nMemory = -1\nDisk = undefined\nGpus = \"two\"\nFans = 2")
	require.NoError(t, err)
	resources := []string{"cpus", "memory", "disk", "gpus", "fans", "x"}
	require.Equal(t, backfill.Vector{3, 0, 0, 0, 2, 0}, Amounts(ad, resources, nil))
}

// TestOldWaysAreForgotten says that the ways of rounding that slots have now count, up to a bound,
// and that they change at most once a minute, as all jobs are read anew then.
func TestOldWaysAreForgotten(t *testing.T) {
	o := quiet()
	counted := func(cpus int) int64 {
		o.number++
		o.looked = o.looked.Add(10 * time.Second)
		_, err := o.readSlot(cedar.Lines(partitionable(fmt.Sprintf("ConsumptionCpus = %d\n", cpus))), lookOf(o.number))
		require.NoError(t, err)
		o.countWays()
		taken, err := o.rounding.taken(classad.New(), backfill.Vector{1, 0, 1})
		require.NoError(t, err)
		return taken[0]
	}
	require.EqualValues(t, 4, counted(4))
	require.EqualValues(t, 2, counted(2))
	for range 5 {
		require.EqualValues(t, 2, counted(4))
	}
	require.EqualValues(t, 3, counted(3))
	o.Forget([]string{"slot1@n"})
	for i := range 2 * mostWays {
		_, err := o.readSlot(cedar.Lines(roundingSlot(fmt.Sprint("n", i), 1000, fmt.Sprint("ConsumptionCpus = ", i+1))), lookOf(o.number))
		require.NoError(t, err)
	}
	o.looked = o.looked.Add(recount)
	o.countWays()
	require.Len(t, o.rounding.ways, mostWays)
}

// TestCountsRest says that slots are counted at once if a policy is new, and else once a minute: some
// slot changes in most looks.
func TestCountsRest(t *testing.T) {
	o := quiet()
	counts := func(memory int, policy string) bool {
		o.number++
		o.looked = o.looked.Add(10 * time.Second)
		ad := partitionable(fmt.Sprintf("TotalSlotMemory = %d\n%s", memory, policy))
		_, err := o.readSlot(cedar.Lines(ad), lookOf(o.number))
		require.NoError(t, err)
		o.countWays()
		return o.rounding.counted.Equal(o.looked)
	}
	o.looked = time.Unix(1_700_000_000, 0)
	require.True(t, counts(4096, ""))
	for i := range 5 {
		require.False(t, counts(4097+i, ""))
	}
	require.True(t, counts(4110, ""))
	require.True(t, counts(4110, "ConsumptionCpus = 2\n"))
}

// roundingSlot is the ad of a partitionable slot on a host that has so many cpus.
func roundingSlot(host string, cpus int, more string) string {
	return fmt.Sprintf("MyType = \"Machine\"\nName = \"slot1@%s\"\nState = \"Unclaimed\"\nPartitionableSlot = true\n"+
		"Cpus = %d\nMemory = 4096\nTotalSlotCpus = %[2]d\nTotalSlotMemory = 4096\nRequirements = true\n%s\n", host, cpus, more)
}

// TestTaken says how much a job is planned with: by the policies of the slots that can host it, and
// as startds without one round; but few slots that take more than others can give do not count.
func TestTaken(t *testing.T) {
	asked := backfill.Vector{1, 100, 1}
	plain, greedy := roundingSlot("a", 4, ""), "ConsumptionCpus = 900"
	for name, c := range map[string]struct {
		slots []string
		want  backfill.Vector
	}{
		"no slot":   {want: asked},
		"no policy": {slots: []string{plain}, want: backfill.Vector{1, 128, 1}},
		"exactly":   {slots: []string{roundingSlot("a", 4, "ConsumptionMemory = TARGET.RequestMemory")}, want: asked},
		"nonsense":  {slots: []string{roundingSlot("a", 4, "ConsumptionCpus = -2\nConsumptionMemory = \"x\"")}, want: asked},
		"the larger counts": {
			slots: []string{
				roundingSlot("a", 8, "ConsumptionCpus = 2"), roundingSlot("b", 8, "ConsumptionCpus = 2"),
				roundingSlot("c", 8, "ConsumptionMemory = 150.5"), roundingSlot("d", 8, ""),
			},
			want: backfill.Vector{2, 151, 1},
		},
		"of all slots": {
			slots: []string{roundingSlot("a", 4, "ConsumptionCpus = 4"), roundingSlot("b", 4, "ConsumptionCpus = 4")},
			want:  backfill.Vector{4, 100, 1},
		},
		"one large slot takes much": {slots: []string{plain, roundingSlot("z", 1000, greedy)}, want: backfill.Vector{1, 128, 1}},
		"one slot takes a whole one": {
			slots: []string{plain, roundingSlot("b", 4, ""), roundingSlot("c", 4, ""), roundingSlot("z", 4, "ConsumptionCpus = 4")},
			want:  backfill.Vector{1, 128, 1},
		},
		"one slot takes a little more": {
			slots: []string{plain, roundingSlot("b", 4, ""), roundingSlot("z", 4, "ConsumptionMemory = 1024")},
			want:  backfill.Vector{1, 1024, 1},
		},
		"several take much": {
			slots: []string{
				roundingSlot("a", 4, "ConsumptionMemory = 1024"), roundingSlot("b", 4, "ConsumptionMemory = 1023"),
				roundingSlot("c", 4, "ConsumptionMemory = 1022"), roundingSlot("x", 4, "ConsumptionCpus = 4"),
				roundingSlot("y", 1000, "ConsumptionCpus = 900"), roundingSlot("z", 1000, "ConsumptionCpus = 901"),
			},
			want: backfill.Vector{1, 1024, 1},
		},
		"of static slots": {
			slots: []string{strings.Replace(plain, "PartitionableSlot = true", "SlotTypeID = 1", 1), roundingSlot("z", 1000, greedy)},
			want:  asked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := quiet()
			for _, slot := range c.slots {
				_, err := o.readSlot(cedar.Lines(slot), lookOf(1))
				require.NoError(t, err)
			}
			o.countWays()
			job := classad.New()
			job.SetInt("RequestMemory", 100)
			taken, err := o.rounding.taken(job, asked)
			require.NoError(t, err)
			require.Equal(t, c.want, taken)
			require.Equal(t, backfill.Vector{1, 100, 1}, asked)
		})
	}
}

// TestJobsKeepTheirSpecs says that slots which change their policies in each look, or have a huge
// disk, change nothing for jobs.
func TestJobsKeepTheirSpecs(t *testing.T) {
	p := newSite(t, "s@test")
	p.s.Schema.Resources = []string{"cpus", "memory", "disk", Claims}
	p.rounding = rounding{resources: p.s.Schema.Resources}
	p.want()
	p.schedds[0].SetJobs(job("RequestDisk = 100\n"))
	var spec *Spec
	for i := range 6 {
		p.slots = []string{
			roundingSlot("evil", 1, fmt.Sprintf("Disk = 1000000000000\nTotalSlotDisk = 1000000000000\nConsumptionCpus = %d", i)),
			roundingSlot("vile", 1, "Disk = 1000000000000\nTotalSlotDisk = 1000000000000"),
			roundingSlot("a", 4, "Disk = 1000000\nTotalSlotDisk = 1000000"), roundingSlot("b", 4, "Disk = 1000000\nTotalSlotDisk = 1000000"),
		}
		s := p.see().Schedds["s@test"].Groups[0].Spec
		if i == 1 {
			spec = s
		}
		require.Equal(t, backfill.Vector{1, 128, 2000, 1}, s.Request)
		require.True(t, i < 1 || s == spec)
	}
}

// TestJobsAreNotReadAnew says that a machine that joins or leaves has no ad of a job read anew, whether
// the job takes other amounts then or not, and that an edit is told from that.
func TestJobsAreNotReadAnew(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{roundingSlot("a", 4, "")}
	p.schedds[0].SetJobs(job("RequestMemory = 128 + 2\nRequestCpus = 1\n"))
	spec := func() *Spec { return p.see().Schedds["s@test"].Groups[0].Spec }
	before := spec()
	require.Equal(t, backfill.Vector{1, 256, 1}, before.Request)
	p.at, p.slots = p.at.Add(recount), append(p.slots, roundingSlot("b", 8, ""))
	require.Same(t, before, spec())
	for _, c := range []struct {
		policy string
		cpus   int64
	}{{"ConsumptionCpus = TARGET.RequestCpus + 1", 2}, {"ConsumptionCpus = 900", 1}, {"ConsumptionCpus = TARGET.RequestCpus + 2", 3}} {
		p.at = p.at.Add(recount)
		p.slots = []string{roundingSlot("a", 4, c.policy), roundingSlot("b", 4, c.policy)}
		now := spec()
		require.NoError(t, now.Wrong)
		require.Zero(t, p.reads.all)
		require.Equal(t, backfill.Vector{c.cpus, 130, 1}, now.Request)
		require.Equal(t, strconv.FormatInt(c.cpus, 10), now.Ad.Literal("RequestCpus").String())
		require.True(t, now.SameAd(before))
		require.Same(t, now, spec())
	}
	p.schedds[0].SetJobs(job("RequestMemory = 128 + 3\nRequestCpus = 1\n"))
	require.False(t, spec().SameAd(before))
}

// TestPoliciesByTheClock: what a policy takes may depend on when the pool is looked at.
func TestPoliciesByTheClock(t *testing.T) {
	o := quiet()
	_, err := o.readSlot(cedar.Lines(partitionable("ConsumptionCpus = time() > 1000 ? 2 : 1\n")), lookOf(1))
	require.NoError(t, err)
	for _, cpus := range []int64{1, 2} {
		o.looked = time.Unix(999+cpus, 0)
		o.countWays()
		taken, err := o.rounding.taken(classad.New(), backfill.Vector{1, 0, 1})
		require.NoError(t, err)
		require.Equal(t, cpus, taken[0])
	}
}

// TestAmountsThatServe says with which amounts jobs go on although they would be rounded to others now.
func TestAmountsThatServe(t *testing.T) {
	r := rounding{
		resources: []string{"cpus", "memory", "disk"},
		ways:      []*way{{sizes: []backfill.Vector{{4, 4096, 1_000_000_000}, {1, 100, 100}}}},
	}
	for name, c := range map[string]struct {
		before, now backfill.Vector
		want        bool
	}{
		"the same":              {backfill.Vector{1, 256, 1_000_000}, backfill.Vector{1, 256, 1_000_000}, true},
		"a little more disk":    {backfill.Vector{1, 256, 1_000_000}, backfill.Vector{1, 256, 2_000_000}, true},
		"a little less disk":    {backfill.Vector{1, 256, 2_000_000}, backfill.Vector{1, 256, 1_000_000}, true},
		"much more disk":        {backfill.Vector{1, 256, 1_000_000}, backfill.Vector{1, 256, 20_000_000}, false},
		"too much for as many":  {backfill.Vector{1, 256, 249_000_000}, backfill.Vector{1, 256, 251_000_000}, false},
		"a little more memory":  {backfill.Vector{1, 256, 1_000_000}, backfill.Vector{1, 257, 1_000_000}, false},
		"a little less memory":  {backfill.Vector{1, 256, 1_000_000}, backfill.Vector{1, 250, 1_000_000}, true},
		"much less memory":      {backfill.Vector{1, 1024, 1_000_000}, backfill.Vector{1, 128, 1_000_000}, false},
		"room for more of them": {backfill.Vector{1, 1030, 1_000_000}, backfill.Vector{1, 1024, 1_000_000}, false},
	} {
		require.Equal(t, c.want, r.serves(c.before, c.now), name)
	}
}

// TestAStrangersSlotCostsLittle says that one slot, whatever it has and takes, leaves others
// three quarters of the jobs that they have room for.
func TestAStrangersSlotCostsLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		honest := rapid.SampledFrom([]string{"", "ConsumptionMemory = 1000", "ConsumptionCpus = 2"}).Draw(t, "honest")
		number := rapid.Int64Range(1, 2000)
		var ads []string
		for i := range rapid.IntRange(4, 10).Draw(t, "slots") {
			ads = append(ads, roundingSlot(fmt.Sprint("n", i), 16, honest))
		}
		asked := backfill.Vector{rapid.Int64Range(1, 16).Draw(t, "cpus"), rapid.Int64Range(1, 4000).Draw(t, "memory"), 1}
		planned := func(ads []string) backfill.Vector {
			o := quiet()
			for _, ad := range ads {
				_, err := o.readSlot(cedar.Lines(ad), lookOf(1))
				require.NoError(t, err)
			}
			o.countWays()
			taken, err := o.rounding.taken(classad.New(), asked)
			require.NoError(t, err)
			require.True(t, asked.Within(taken))
			return taken
		}
		size, alone := backfill.Vector{16, 4096, Unlimited}, planned(ads)
		besides := planned(append(ads, roundingSlot("evil", int(number.Draw(t, "evil")), fmt.Sprintf(
			"ConsumptionCpus = %d\nConsumptionMemory = %d\nTotalSlotMemory = 1000000", number.Draw(t, "c"), number.Draw(t, "m")))))
		require.GreaterOrEqual(t, 4*chunks(size, besides), 3*chunks(size, alone), "%v %v", alone, besides)
	})
}
