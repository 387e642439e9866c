package statefile

import "fmt"

// LeftOut counts the items that are left out of something, so that one item which a stranger wrote
// does not cost all others. It keeps what is wrong with one of them: the first by name, so that the
// same items always give the same error.
type LeftOut struct {
	items int
	name  string
	err   error
}

// Add leaves out an item.
func (l *LeftOut) Add(name string, err error) {
	if l.items == 0 || name < l.name {
		l.name, l.err = name, err
	}
	l.items++
}

// Told returns an error that says how many items are left out of what; nil if none is.
func (l *LeftOut) Told(what string) error {
	if l.items == 0 {
		return nil
	}
	return fmt.Errorf("left out of %s (%d in all): %w", what, l.items, l.err)
}
