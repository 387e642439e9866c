//go:build !unix

package sdk

import "os"

// takeChannel returns nil, because processes do not inherit sockets on this system.
func takeChannel() *os.File { return nil }
