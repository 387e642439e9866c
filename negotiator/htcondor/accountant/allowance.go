package accountant

// Allowance returns how much one may take of work that strangers cause, of which all together may
// take most: a quarter of what the others leave. All is what all have taken, and own what he has,
// in the same unit. So many who take much, or one under many names, leave something to everybody.
func Allowance[N int | int64](most, all, own N) N { return (most - all + own) / 4 }
