package profile

// AskMany answers requests of so many candidates with a reach, until the test is
// over.
func AskMany(t interface{ Cleanup(func()) }, slots int) {
	before := manySlots
	manySlots = slots
	t.Cleanup(func() { manySlots = before })
}
