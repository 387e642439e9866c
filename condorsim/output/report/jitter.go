package report

import (
	"fmt"
	"strconv"
)

// Jitter says that each key of the order was multiplied by a factor from 1 − Keys to 1 + Keys,
// which the seed and the job's number determine.
type Jitter struct {
	Keys float64 `json:"keys"`
	Seed uint64  `json:"seed"`
}

// String is what the table says behind the order; "" for nil.
func (j *Jitter) String() string {
	if j == nil {
		return ""
	}
	return fmt.Sprintf(", keys jittered by %s %% (seed %d)", strconv.FormatFloat(100*j.Keys, 'g', 4, 64), j.Seed)
}
