package profile

// BrokenOff is what a query panics with if its time is over; see [View.BreakOff].
type BrokenOff struct{ Err error }

// Error is that of the callback.
func (e *BrokenOff) Error() string { return e.Err.Error() }

// Unwrap returns the error of the callback.
func (e *BrokenOff) Unwrap() error { return e.Err }

// BreakOff makes the queries that take long, here and in clones that are made from now on, panic
// with [*BrokenOff] as soon as the callback returns an error; nil ends that. The profile answers
// later queries as if the broken one had not been asked. Unless it is set, this costs a query
// nothing that can be measured.
func (p *View) BreakOff(over func() error) { p.over = over }

// GoOn panics with [*BrokenOff] if [View.BreakOff] was called and the time is over.
func (p *View) GoOn() {
	if p.over != nil {
		p.goOn()
	}
}

func (p *View) goOn() {
	if err := p.over(); err != nil {
		panic(&BrokenOff{err})
	}
}
