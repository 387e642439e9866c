package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxActions is the maximum number of actions of an answer.
const maxActions = 1 << 20

// leastAction is the minimum number of bytes of an action in a message.
const leastAction = 2

// CheckAnswer returns an error if an encoded PolicyMessage has too many actions. Limiting its bytes
// is not enough, because an action of two bytes becomes a hundred when it is decoded. It calls the
// callback, which returns the encoded message, only if size bytes can hold so many actions.
func CheckAnswer(size int, read func() []byte) error {
	if size <= leastAction*maxActions {
		return nil
	}
	raw := read()
	const inMessage, inDecision = 2, 3 // numbers of the fields decision and journal
	actions := 0
	return fields(raw, inMessage, func(decision []byte) error { // it may be split into parts
		return fields(decision, inDecision, func([]byte) error {
			if actions++; actions > maxActions {
				return fmt.Errorf("an answer of %d bytes has more than %d actions", len(raw), maxActions)
			}
			return nil
		})
	})
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
