package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxActions is the maximum number of actions of an answer.
const maxActions = 1 << 20

// leastAction is the minimum number of bytes of an action in a message.
const leastAction = 2

// maxNumbers is the maximum number of numbers in the placements of an answer, slots and counts of
// chunks. To check so many on crowded slots takes a host longer than the usual deadline.
const maxNumbers = 4 << 20

// CheckAnswer returns an error if an encoded PolicyMessage has too many actions, or placements on too
// many slots. Limiting its bytes is not enough, because an action of two bytes becomes a hundred when
// it is decoded, and a slot of one byte twenty. It calls the callback, which returns the encoded
// message, only if size bytes can hold so many actions.
func CheckAnswer(size int, read func() []byte) error {
	if size <= leastAction*maxActions {
		return nil
	}
	raw := read()
	const inMessage, inDecision, inAction = 2, 3, 5 // numbers of the fields decision, journal, placement
	actions, numbers := 0, 0
	return fields(raw, inMessage, func(decision []byte) error { // it may be split into parts
		return fields(decision, inDecision, func(action []byte) error {
			if actions++; actions > maxActions {
				return fmt.Errorf("an answer of %d bytes has more than %d actions", len(raw), maxActions)
			}
			return fields(action, inAction, func(placement []byte) error {
				if numbers += ends(placement); numbers > maxNumbers {
					return fmt.Errorf("the placements in an answer of %d bytes have more than %d numbers", len(raw),
						maxNumbers)
				}
				return nil
			})
		})
	})
}

// ends returns how many numbers of variable length end in the bytes: at least as many as the message
// that they encode has, packed or not.
func ends(raw []byte) (n int) {
	for _, b := range raw {
		n += int(^b >> 7)
	}
	return n
}

// fields calls the callback with the content of every field of a message that has this number and
// holds bytes. It errs if the message is malformed or the callback errs.
func fields(raw []byte, number protowire.Number, visit func([]byte) error) error {
	for len(raw) > 0 {
		field, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return fmt.Errorf("decode: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
		if n = protowire.ConsumeFieldValue(field, kind, raw); n < 0 {
			return fmt.Errorf("decode: %w", protowire.ParseError(n))
		}
		if field == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(raw)
			if err := visit(value); err != nil {
				return err
			}
		}
		raw = raw[n:]
	}
	return nil
}
