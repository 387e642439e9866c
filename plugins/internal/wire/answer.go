package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxActions bounds the actions of an answer.
const maxActions = 1 << 20

// leastAction is how many bytes of a message an action takes, were it empty.
const leastAction = 2

// CheckAnswer refuses a PolicyMessage, as it came, that has too many actions. The
// bound on its bytes is not enough: an action takes two of them at least and, once
// decoded, a hundred. Most answers are too short for so many, and not looked at.
func CheckAnswer(size int, read func() []byte) error {
	if size <= leastAction*maxActions {
		return nil
	}
	raw := read()
	const inMessage, inDecision = 2, 3 // the fields decision and journal
	actions := 0
	return fields(raw, inMessage, func(decision []byte) error { // there may be parts of one
		return fields(decision, inDecision, func([]byte) error {
			if actions++; actions > maxActions {
				return fmt.Errorf("an answer of %d bytes has more than %d actions", len(raw), maxActions)
			}
			return nil
		})
	})
}

// fields visits the fields of a message that have a number and hold bytes.
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
