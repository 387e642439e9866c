package client

import (
	"context"
	"fmt"
)

// reschedule has a schedd count its queue.
const reschedule = 421

// Reschedule has the schedd count its queue soon, as condor_reschedule does: then it advertises its submitters,
// and asks for the slots of its gangs. It does so in its own time, and does not answer.
func (s Schedd) Reschedule(ctx context.Context) error {
	stream, err := s.Security.Start(ctx, s.Address, reschedule, nil)
	if err != nil {
		return fmt.Errorf("have the schedd at %v count its queue: %w", s.Address, err)
	}
	stream.Close() // the command is all there is to say
	return nil
}
