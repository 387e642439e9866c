package observe

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// maxSlotTokens is up to how many names, constants and signs a slot's ad is read: real ones have a
// thousand.
const maxSlotTokens = 32 << 10

// affordableSlot errs if a slot's ad is too large to be read.
func affordableSlot(lines cedar.Lines) error {
	if left, cut := lines.Find(client.LeftOut); cut {
		return fmt.Errorf("its ad is too large: %s bytes are left out", left)
	}
	if n := classad.Tokens(lines); n > maxSlotTokens {
		return fmt.Errorf("its ad has %d names, constants and signs: must be at most %d", n, maxSlotTokens)
	}
	return nil
}
