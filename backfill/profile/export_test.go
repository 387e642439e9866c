package profile

// AskMany answers requests of so many candidates with reaches, of short spans,
// until the test is over.
func AskMany(t interface{ Cleanup(func()) }, slots int) {
	beforeSlots, beforeSpans := manySlots, spans
	manySlots, spans = slots, []Time{1, 3, 7}
	t.Cleanup(func() { manySlots, spans = beforeSlots, beforeSpans })
}
