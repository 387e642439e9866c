package classad

// Values returns a copy of the ad in which nothing has to be evaluated: its numbers, truth values and
// the texts of no more than so many bytes. It tells what an expression of another ad takes by itself
// from what it takes by the fault of this one.
func (ad *ClassAd) Values(longest int) *ClassAd {
	plain := New()
	for name, e := range ad.All() {
		v := e.Eval(Scope{MaxSteps: 2})
		switch v.Kind() {
		case Boolean, Integer, Real:
			plain.Set(name, e)
		case String:
			if text, _ := v.Text(); len(text) <= longest {
				plain.SetString(name, text)
			}
		default:
		}
	}
	return plain
}
