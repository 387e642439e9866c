//go:build !linux

package cedar

// HungUp is always false, as nothing tells.
func (s *Stream) HungUp() bool { return false }
