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

// The maximum numbers of fields of an answer. An encoder makes one of the message and at most six
// of an action. Many more, which replace each other or have unknown numbers, take seconds to
// decode.
const (
	maxParts  = 64
	maxFields = 8 * maxActions
)

// CheckAnswer returns an error if an encoded PolicyMessage has too many actions or fields, or
// placements on too many slots. Limiting its bytes is not enough, because an action of two bytes
// becomes a hundred when it is decoded, and a slot of one byte twenty. It calls the callback, which
// returns the encoded message, only if size bytes can hold so many actions.
func CheckAnswer(size int, read func() []byte) error {
	if size <= leastAction*maxActions {
		return nil
	}
	const inMessage, lastMessage, inDecision, inAction = 2, 4, 3, 5 // fields decision, failure, journal, placement
	all := limit{"fields", maxFields, 0}
	parts, actions, numbers := limit{"parts", maxParts, 0}, limit{"actions", maxActions, 0}, limit{"numbers", maxNumbers, 0}
	err := fields(read(), &parts, func(kind protowire.Number, part []byte) error {
		if kind > lastMessage {
			return nil
		}
		return fields(part, &all, func(number protowire.Number, action []byte) error {
			if kind != inMessage || number != inDecision {
				return nil
			}
			if err := actions.add(1); err != nil {
				return err
			}
			return fields(action, &all, func(number protowire.Number, placement []byte) error {
				if number != inAction {
					return nil
				}
				return numbers.add(ends(placement))
			})
		})
	})
	if err != nil {
		return fmt.Errorf("an answer of %d bytes %w", size, err)
	}
	return nil
}

// limit counts what an answer has.
type limit struct {
	what      string
	most, has int
}

func (l *limit) add(n int) error {
	if l.has += n; l.has > l.most {
		return fmt.Errorf("has more than %d %s", l.most, l.what)
	}
	return nil
}

// ends returns how many numbers of variable length end in the bytes: at least as many as the
// message that they encode has, packed or not.
func ends(raw []byte) (n int) {
	for _, b := range raw {
		n += int(^b >> 7)
	}
	return n
}

// fields counts the fields of a message, and calls the callback with each that holds bytes. It errs
// if the message is malformed, there are too many, or the callback errs.
func fields(raw []byte, counted *limit, visit func(protowire.Number, []byte) error) error {
	for len(raw) > 0 {
		field, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return fmt.Errorf("cannot be decoded: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
		if n = protowire.ConsumeFieldValue(field, kind, raw); n < 0 {
			return fmt.Errorf("cannot be decoded: %w", protowire.ParseError(n))
		}
		if err := counted.add(1); err != nil {
			return err
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(raw)
			if err := visit(field, value); err != nil {
				return err
			}
		}
		raw = raw[n:]
	}
	return nil
}
