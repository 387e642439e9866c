package classad

// truth is a value in three-valued logic.
type truth uint8

const (
	no truth = iota
	yes
	unknown // undefined
	invalid // error and everything that is neither a boolean nor a number
)

func truthOf(v Value) truth {
	switch v.kind {
	case Boolean, Integer:
		if v.bits != 0 {
			return yes
		}
		return no
	case Real:
		if v.asReal() != 0 {
			return yes
		}
		return no
	case Undefined:
		return unknown
	default:
		return invalid
	}
}

func (t truth) value() Value {
	switch t {
	case no, yes:
		return boolean(t == yes)
	case unknown:
		return undefined
	default:
		return errorValue
	}
}

// negated returns the value of !x.
func negated(x Value) Value {
	switch t := truthOf(x); t {
	case no:
		return boolean(true)
	case yes:
		return boolean(false)
	default:
		return t.value()
	}
}
