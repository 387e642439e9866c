package accountant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStanding: expressions about preemption see the numbers of the last Update and Divide.
func TestStanding(t *testing.T) {
	a, err := New(Settings{
		HalfLife: 86400, DefaultFactor: 1000, NiceFactor: 1e10, RemoteFactor: 1e7,
		Groups: []Group{{Name: "g", Quota: 4, Static: true, AcceptSurplus: true}},
	})
	require.NoError(t, err)
	require.NoError(t, a.SetFloor("alice@test", 3))
	use := map[string]Use{"alice@test": {2, 6}, "g.bob@test": {1, 1}}
	require.NoError(t, a.Update(time.Unix(1_700_000_000, 0), use))
	require.NoError(t, a.Divide(10, map[string]float64{"carol@test": 8}))
	alice := Standing{Prio: 500, InUse: 6, Floor: 3, Group: rootGroup, GroupInUse: 6, GroupQuota: 6}
	require.Equal(t, alice, a.Standing("alice@test"))
	bob := Standing{Prio: 500, InUse: 1, Group: "g", GroupInUse: 1, GroupQuota: 4}
	require.Equal(t, bob, a.Standing("g.bob@test"))
	require.InDelta(t, 500, a.Standing("stranger@test").Prio, 0)
}

// TestHasRoom: a submitter may displace others within its part of the pool and its ceiling, and
// exceed the part once.
func TestHasRoom(t *testing.T) {
	a, err := New(Settings{HalfLife: 86400, DefaultFactor: 1000, NiceFactor: 1e10, RemoteFactor: 1e7})
	require.NoError(t, err)
	require.NoError(t, a.Update(time.Unix(1_700_000_000, 0), map[string]Use{"alice@test": {10, 10}}))
	require.NoError(t, a.Divide(10, map[string]float64{"bob@test": 20, "alice@test": 5}))
	for _, c := range []struct {
		submitter       string
		granted, weight float64
		room            bool
	}{
		{"bob@test", 0, 1, true},
		{"bob@test", 4, 1, true},
		{"bob@test", 5, 1, false},
		{"bob@test", 0, 8, true}, // the rest of a part is not left over
		{"bob@test", 1, 8, false},
		{"alice@test", 0, 1, false},
		{"stranger@test", 0, 1, false},
	} {
		require.Equal(t, c.room, a.HasRoom(c.submitter, c.granted, c.weight), "%+v", c)
	}
	require.NoError(t, a.SetCeiling("bob@test", 2))
	require.True(t, a.HasRoom("bob@test", 1, 1))
	require.False(t, a.HasRoom("bob@test", 2, 1))
}
