package accountant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeases says that what is leased holds for its time, across restarts, and then what was set
// before.
func TestLeases(t *testing.T) {
	db := database(t)
	a, err := Open(db, settings(t, ""))
	require.NoError(t, err)
	limits := func() [3]float64 {
		r := a.accounts["a@d"]
		return [3]float64{float64(r.Ceiling), float64(r.Floor), r.Factor}
	}
	require.NoError(t, a.Update(at(0), nil))
	require.NoError(t, a.SetCeiling("a@d", 7))
	require.NoError(t, a.Lease(at(0), LeasedCeiling, "a@d", 3, 100))
	require.NoError(t, a.Lease(at(0), LeasedFloor, "a@d", 2, 200))
	require.NoError(t, a.Lease(at(0), LeasedFactor, "a@d", 5, 300))
	require.Equal(t, [3]float64{3, 2, 5}, limits())
	require.EqualError(t, a.Lease(at(50), LeasedCeiling, "a@d", 4, 100),
		"ceiling lease for a@d is already in effect (expires at "+decimal(float64(at(100).Unix()))+")")
	require.NoError(t, a.Update(at(99), nil))
	require.Equal(t, [3]float64{3, 2, 5}, limits())
	a, err = Open(db, settings(t, ""))
	require.NoError(t, err)
	require.Equal(t, [3]float64{3, 2, 5}, limits())
	require.NoError(t, a.Update(at(100), nil))
	require.Equal(t, [3]float64{7, 2, 5}, limits(), "the former ceiling")
	require.NoError(t, a.CancelLease(at(150), LeasedFloor, "a@d"))
	require.Equal(t, [3]float64{7, 0, 5}, limits())
	require.EqualError(t, a.CancelLease(at(150), LeasedFloor, "a@d"), "no floor lease in effect for a@d")
	require.NoError(t, a.SetCeiling("a@d", -1))
	require.NoError(t, a.Update(at(300), nil))
	require.Nil(t, a.accounts["a@d"].leases)
	require.Equal(t, [3]float64{-1, 0, 0}, limits())

	// A new lease ends one whose time has come, and a deleted account has none.
	require.NoError(t, a.Lease(at(301), LeasedCeiling, "a@d", 0, 10))
	require.NoError(t, a.Lease(at(312), LeasedCeiling, "a@d", 1, 10))
	require.NoError(t, a.Delete("a@d"))
	require.NoError(t, a.Update(at(330), nil))
	require.Empty(t, a.leased)

	for _, err := range []error{
		a.Lease(at(0), LeasedCeiling, "a@d", -2, 10), a.Lease(at(0), LeasedFloor, "a@d", -1, 10),
		a.Lease(at(0), LeasedFactor, "a@d", 0.5, 10), a.Lease(at(0), LeasedFloor, "a@d", 1, 0),
		a.Lease(at(0), "share", "a@d", 1, 10), a.Lease(at(0), LeasedFloor, "a b@d", 1, 10),
	} {
		require.Error(t, err)
	}
}
