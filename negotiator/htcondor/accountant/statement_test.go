package accountant

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const withGroup = "GROUP_NAMES = physics\nGROUP_QUOTA_physics = 10"

// TestAnotherAccountingGoesOn has one accounting take over what another says, at any moment: from
// then on both come to the same, also after a restart.
func TestAnotherAccountingGoesOn(t *testing.T) {
	dbA, dbB := database(t), database(t)
	rapid.Check(t, func(t *rapid.T) {
		empty(t, dbA)
		empty(t, dbB)
		config := settings(t, withGroup)
		a, err := Open(dbA, config)
		require.NoError(t, err)
		b, err := Open(dbB, config)
		require.NoError(t, err)
		names := []string{"alice@d", "bob@d", "physics.carol@d"}
		now := int64(1)
		live := func(t *rapid.T, who ...*Accountant) {
			now += rapid.Int64Range(1, 100_000).Draw(t, "seconds")
			use := map[string]Use{}
			for _, name := range names {
				if slots := rapid.IntRange(0, 3).Draw(t, name); slots > 0 {
					use[name] = Use{slots, float64(slots * rapid.IntRange(1, 8).Draw(t, "weight"))}
				}
			}
			for _, one := range who {
				require.NoError(t, one.Update(at(now), use))
			}
		}
		require.NoError(t, b.Update(at(0), map[string]Use{"dave@d": {Slots: 1, Weight: 1}}))
		require.NoError(t, b.SetFloor("erin@d", 3))
		for range rapid.IntRange(1, 4).Draw(t, "before") {
			live(t, a)
		}
		require.NoError(t, a.SetFactor("bob@d", rapid.Float64Range(1, 5000).Draw(t, "factor")))
		require.NoError(t, a.SetCeiling("alice@d", 7))
		for _, what := range []string{LeasedCeiling, LeasedFloor, LeasedFactor} {
			if seconds := rapid.Int64Range(0, 300_000).Draw(t, what); seconds > 0 {
				require.NoError(t, a.Lease(at(now), what, rapid.SampledFrom(names).Draw(t, "leaseholder"), 3, seconds))
			}
		}
		leftOut, err := b.Adopt(a.Statement())
		require.NoError(t, errorOf(leftOut, err))
		require.Equal(t, a.Statement(), b.Statement())
		require.Empty(t, a.Statement().Lacks(b.Statement()))
		if rapid.Bool().Draw(t, "restart") {
			b, err = Open(dbB, config)
			require.NoError(t, err)
			require.Equal(t, a.Statement(), b.Statement(), "nothing else is in the file")
		}
		for range 3 {
			live(t, a, b)
			same(t, a.Statement(), b.Statement())
		}
	})
}

// TestLeasesMove: the end of a lease, and what is to hold then, are in a statement, with the factor
// that the configuration gives if none was set, as HTCondor writes it. Who takes it over ends the
// lease as the former would have.
func TestLeasesMove(t *testing.T) {
	a, b := open(t, withGroup+"\nGROUP_PRIO_FACTOR_physics = 50"), open(t, withGroup+"\nGROUP_PRIO_FACTOR_physics = 50")
	require.NoError(t, a.Update(at(0), nil))
	require.NoError(t, a.SetCeiling("physics.carol@d", 20))
	require.NoError(t, a.Lease(at(0), LeasedCeiling, "physics.carol@d", 2, 100))
	require.NoError(t, a.Lease(at(0), LeasedFloor, "physics.carol@d", 1, 50))
	require.NoError(t, a.Lease(at(0), LeasedFactor, "physics.carol@d", 5, 200))
	require.NoError(t, a.Lease(at(0), LeasedCeiling, "bob@d", -1, 100))
	require.NoError(t, b.Lease(at(0), LeasedCeiling, "alice@d", 3, 100))
	leftOut, err := b.Adopt(a.Statement())
	require.NoError(t, errorOf(leftOut, err))
	leases := func() map[string]map[string]Lease {
		found := map[string]map[string]Lease{}
		for _, r := range b.Statement().Records {
			if r.Leases != nil {
				found[r.Name] = r.Leases
			}
		}
		return found
	}
	end := func(seconds int64) int64 { return at(seconds).Unix() }
	require.Equal(t, map[string]map[string]Lease{
		"physics.carol@d": {
			LeasedCeiling: {end(100), 20}, LeasedFloor: {end(50), 0}, LeasedFactor: {end(200), 50},
		},
		"bob@d": {LeasedCeiling: {end(100), -1}},
	}, leases())
	require.NoError(t, b.Update(at(60), nil))
	require.Len(t, leases()["physics.carol@d"], 2)
	require.NoError(t, b.Update(at(150), nil))
	require.Equal(t, map[string]map[string]Lease{"physics.carol@d": {LeasedFactor: {end(200), 50}}}, leases())
	require.NoError(t, b.Update(at(250), nil))
	require.Empty(t, leases())
	carol := b.accounts["physics.carol@d"]
	require.Equal(t, [3]float64{20, 0, 0}, [3]float64{float64(carol.Ceiling), float64(carol.Floor), carol.Factor})
	require.Equal(t, int64(-1), b.accounts["bob@d"].Ceiling)
	require.Nil(t, b.accounts["alice@d"], "whose lease was replaced")
}

func errorOf(errs ...error) error {
	at := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if at < 0 {
		return nil
	}
	return errs[at]
}

// same requires two statements to say the same, but for the last digits: accounts age in other
// steps.
func same(t require.TestingT, a, b Statement) {
	require.Len(t, b.Records, len(a.Records))
	for i, r := range a.Records {
		require.InEpsilon(t, r.Real, b.Records[i].Real, 1e-9)
		r.Real = b.Records[i].Real
		require.Equal(t, r, b.Records[i])
	}
}

// TestWhatNoAccountCanBe is left out, and told; all others are taken over.
func TestWhatNoAccountCanBe(t *testing.T) {
	good := Record{Name: "alice@d", Real: 3, Ceiling: -1}
	for what, change := range map[string]func(r *Record){
		"blanks":             func(r *Record) { r.Name = "a b@d" },
		"missing":            func(r *Record) { r.Name = "" },
		"priority NaN":       func(r *Record) { r.Real = math.NaN() },
		"priority -1":        func(r *Record) { r.Real = -1 },
		"factor +Inf":        func(r *Record) { r.Factor = math.Inf(1) },
		"usage 1e+31":        func(r *Record) { r.Weighted = 1e31 },
		"usage -Inf":         func(r *Record) { r.Used = math.Inf(-1) },
		"begin of usage":     func(r *Record) { r.Begin = -1 },
		"last usage":         func(r *Record) { r.Last = 1 << 40 },
		"ceiling":            func(r *Record) { r.Ceiling = -2 },
		"floor":              func(r *Record) { r.Floor = 1 << 40 },
		"slots of weight 1":  func(r *Record) { r.Use = Use{-1, 1} },
		"end of a lease":     func(r *Record) { r.Leases = map[string]Lease{LeasedFloor: {Until: 0}} },
		"former ceiling":     func(r *Record) { r.Leases = map[string]Lease{LeasedCeiling: {Until: 9, Before: -2}} },
		"former floor":       func(r *Record) { r.Leases = map[string]Lease{LeasedFloor: {Until: 9, Before: math.NaN()}} },
		"former priority-":   func(r *Record) { r.Leases = map[string]Lease{LeasedFactor: {Until: 9, Before: 1e31}} },
		"leases [\"share\"]": func(r *Record) { r.Leases = map[string]Lease{"share": {Until: 9}} },
	} {
		a := open(t, "")
		bad := good
		bad.Name = "bad@d"
		change(&bad)
		leftOut, err := a.Adopt(Statement{Updated: 5, Records: []Record{bad, good}})
		require.NoError(t, err)
		require.ErrorContains(t, leftOut, what)
		require.Equal(t, []string{"alice@d"}, slices.Collect(maps.Keys(contents(t, a.file))))
	}
}

// TestDefaultFactorsAreNotSet: HTCondor writes the default factor of everybody, and a new default
// is to reach them here.
func TestDefaultFactorsAreNotSet(t *testing.T) {
	a := open(t, withGroup+"\nGROUP_PRIO_FACTOR_physics = 50\nDEFAULT_PRIO_FACTOR = 1000")
	s := Statement{Records: []Record{
		{Name: "alice@d", Factor: 1000},
		{Name: "bob@d", Factor: 50},
		{Name: "physics.carol@d", Factor: 50},
		{Name: "physics.dave@d", Factor: 1000},
		{Name: "nice-user.erin@d", Factor: 1e10},
		{Name: "physics", Factor: 50},
		{Name: "frank@d", Factor: 0.5},
	}}
	var factors []float64
	for _, r := range a.WithoutDefaults(s).Records {
		factors = append(factors, r.Factor)
	}
	require.Equal(t, []float64{0, 50, 0, 1000, 0, 0, 0}, factors)
	require.InDelta(t, 1000, s.Records[0].Factor, 0, "the statement itself stays")

	leased := Record{Name: "alice@d", Factor: 7, Leases: map[string]Lease{LeasedFactor: {Until: 9, Before: 1000}}}
	got := a.WithoutDefaults(Statement{Records: []Record{leased}}).Records[0]
	require.Equal(t, map[string]Lease{LeasedFactor: {Until: 9}}, got.Leases, "as what was before a lease")
	require.InDelta(t, 1000, leased.Leases[LeasedFactor].Before, 0, "the statement itself stays")
}

// TestLacks: usage that grew elsewhere, and settings of those who are not here, would be lost.
func TestLacks(t *testing.T) {
	record := func(name string, used, weighted float64) Record {
		return Record{Name: name, Used: used, Weighted: weighted, Ceiling: -1}
	}
	capped := record("capped@d", 0, 0)
	capped.Ceiling = 0
	leased := record("leased@d", 0, 0)
	leased.Leases = map[string]Lease{LeasedCeiling: {Until: 5, Before: 3}}
	here := Statement{Records: []Record{record("a@d", 10, 20), record("b@d", 1e12, 1e12), record("c@d", 0, 0)}}
	there := Statement{Records: []Record{
		record("c@d", 3, 0), record("a@d", 10.9, 20.9), record("b@d", 1e12+900, 1e12), record("new@d", 0, 5), capped, leased,
		record("idle@d", 0, 0),
	}}
	require.Equal(t, "c@d capped@d leased@d new@d", strings.Join(here.Lacks(there), " "))
	require.Empty(t, here.Lacks(here))
	require.Equal(t, []string{"a@d", "b@d"}, Statement{}.Lacks(here))
}

// TestMoreThanAreKept: those who have used least are not taken over, and that is told.
func TestMoreThanAreKept(t *testing.T) {
	a, err := New(DefaultSettings())
	require.NoError(t, err)
	s := Statement{Updated: 1}
	for i := range mostPast + 5 {
		s.Records = append(s.Records, Record{Name: fmt.Sprintf("user%05d@d", i), Weighted: float64(i), Ceiling: -1})
	}
	leftOut, err := a.Adopt(s)
	require.NoError(t, err)
	require.EqualError(t, leftOut, fmt.Sprintf("left out of the accounting (4 in all): "+
		"user00001@d has used not more than %d others", mostPast), "the first has used nothing")
	require.Len(t, a.Statement().Records, mostPast+1, "and the root group")
}
