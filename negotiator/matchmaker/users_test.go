package matchmaker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// crowd adds jobs of the worst kind, of several users.
func (p *pool) crowd(tb testing.TB, users, jobs int) {
	tb.Helper()
	for user := range users {
		for i := range jobs {
			p.clusterFor(tb, fmt.Sprint("eve", user), ad(tb, fmt.Sprintf(
				"Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", manyChoices, 1000*user+i)))
		}
	}
}

// Many users with expensive jobs, who may be one user under many names, lengthen a cycle no more than
// all users together may, and later ones no more than one user may. Others do not wait for them.
func TestManyUsersWithExpensiveJobsAreBoundedTogether(t *testing.T) {
	p, spent, limits := bigPool(t, 100), ledger{}, StrangersLimits()
	p.crowd(t, 300, 4)
	var honest []int
	for i := range 20 {
		honest = append(honest, p.clusterFor(t, "bob", ad(t, fmt.Sprintf("Requirements = TARGET.Site == 1; RequestMemory = %d", i))))
	}
	require.LessOrEqual(t, p.spend(t, spent), limits.All)
	for _, id := range honest {
		require.Len(t, p.clusters[id].candidates.Slots, 5)
	}
	require.False(t, p.Hurries(), "only expensive jobs wait")
	most := limits.User
	for range 20 {
		require.LessOrEqual(t, p.spend(t, spent), most+limits.User/10)
	}
	carol := p.clusterFor(t, "carol", ad(t, "Requirements = TARGET.Site == 2"))
	cheap := p.clusterFor(t, "eve7", ad(t, "Requirements = TARGET.Site == 3"))
	p.match(t)
	require.Len(t, p.clusters[carol].candidates.Slots, 5)
	require.Len(t, p.clusters[cheap].candidates.Slots, 5, "a cheap job of a user with expensive ones")
}

// Many honest users whose jobs are more than one Match may cost are matched in the next ones, at
// once. Whoever has few jobs does not wait for those with many.
func TestManyHonestUsersShareTheLimitOfAll(t *testing.T) {
	limits := StrangersLimits()
	limits.All = 60_000
	p := newLimitedPool(limits)
	for i := range 100 {
		p.add(slotAd(t, fmt.Sprintf("slot%d", i), 4, fmt.Sprintf("Site = %d", i)))
	}
	for i := range 100 {
		p.clusterFor(t, fmt.Sprint("user", i%3), ad(t, fmt.Sprintf("Requirements = TARGET.Site >= %d && TARGET.Cpus > 2", i)))
	}
	few := p.clusterFor(t, "few", ad(t, "Requirements = TARGET.Site > 1"))
	p.match(t)
	require.Len(t, p.clusters[few].candidates.Slots, 98)
	require.Positive(t, p.Unplanned())
	for cycles := 0; p.Hurries(); cycles++ {
		p.match(t)
		require.Less(t, cycles, 20)
	}
	require.Zero(t, p.Unplanned())
	for user, a := range p.accounts.users {
		require.Equal(t, limits.User, a.share, "%s is not punished for the others", user)
	}
	for i := range 100 {
		require.Len(t, p.clusters[i].candidates.Slots, 100-i)
	}
}
