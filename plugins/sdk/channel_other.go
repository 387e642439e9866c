//go:build !unix

package sdk

import "io"

// takeChannel returns nil, because processes inherit no pipes on this system.
func takeChannel() io.ReadWriteCloser { return nil }
