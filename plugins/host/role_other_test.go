//go:build !linux

package host

// become does nothing: only Linux has such hosts.
func become() {}

func leaveGroup() {}
