package host

import (
	"os"
	"slices"
)

// become makes this process what its arguments say, besides what every system can.
func become() {
	if slices.Equal(os.Args[1:], []string{demotedHost}) {
		beDemoted()
	}
}
