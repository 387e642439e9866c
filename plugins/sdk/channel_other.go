//go:build !unix

package sdk

import "os"

// takeChannel takes nothing where processes do not inherit sockets.
func takeChannel() *os.File { return nil }
