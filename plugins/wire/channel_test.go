package wire_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// stream is a stream with separate directions.
type stream struct {
	io.Reader
	io.Writer
}

func failure(text string) *policyv1.PolicyMessage {
	return &policyv1.PolicyMessage{Message: &policyv1.PolicyMessage_Failure{Failure: &policyv1.Failure{Text: text}}}
}

func TestMessagesSurviveTheChannel(t *testing.T) {
	t.Parallel()
	texts := []string{"", "short", strings.Repeat("long", 100_000), strings.Repeat("x", 3<<20), "short again"}
	var sent bytes.Buffer
	there := wire.NewChannel(stream{Writer: &sent}, wire.MaxMessage)
	for _, text := range texts {
		before := sent.Len()
		n, err := there.Send(failure(text))
		require.NoError(t, err)
		require.Equal(t, sent.Len()-before, n)
	}
	for name, way := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		"with its end": iotest.DataErrReader,
	} {
		here, bytesRead := wire.NewChannel(stream{Reader: way(bytes.NewReader(sent.Bytes()))}, wire.MaxMessage), 0
		for _, text := range texts {
			m := &policyv1.PolicyMessage{}
			n, err := here.Receive(m)
			require.NoError(t, err, name)
			require.Equal(t, text, m.GetFailure().GetText())
			bytesRead += n
		}
		require.Equal(t, sent.Len(), bytesRead)
		_, err := here.Receive(&policyv1.PolicyMessage{})
		require.ErrorIs(t, err, io.EOF, name)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	t.Parallel()
	for want, sent := range map[string]string{
		"unexpected EOF":                         "\x05\x00",
		"3 of 5 bytes of a message came":         "\x05\x00\x00\x00abc",
		"a message of 4294967295 bytes is annou": "\xff\xff\xff\xff",
		"decode":                                 "\x01\x00\x00\x00\xff",
	} {
		_, err := wire.NewChannel(stream{Reader: strings.NewReader(sent)},
			wire.MaxMessage).Receive(&policyv1.PolicyMessage{})
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, io.EOF)
	}
}

// A length is announced in four bytes; the buffer grows only with the content.
func TestALengthIsNotBelieved(t *testing.T) { //nolint:paralleltest // it looks at what is allocated
	header := binary.LittleEndian.AppendUint32(nil, wire.MaxMessage)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := wire.NewChannel(stream{Reader: io.MultiReader(bytes.NewReader(header), strings.NewReader("few"))},
		wire.MaxMessage).Receive(&policyv1.PolicyMessage{})
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "3 of 268435456 bytes of a message came")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

func TestATooLargeMessageIsNotSent(t *testing.T) {
	t.Parallel()
	var sent bytes.Buffer
	c := wire.NewChannel(stream{Writer: &sent}, wire.MaxMessage)
	_, err := c.Send(failure(strings.Repeat("x", wire.MaxMessage)))
	require.ErrorContains(t, err, "is larger than")
	require.Empty(t, sent.Bytes())
	_, err = c.Send(failure("x"))
	require.NoError(t, err)
}

// An action of two bytes becomes a hundred when decoded, so that a limit on bytes does not limit
// memory.
func TestAnAnswerWithTooManyActionsIsNotDecoded(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	message := func(decision []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), decision)
	}
	empty := []byte{3<<3 | 2, 0} // an action
	other := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 7)
	for name, test := range map[string]struct {
		raw     []byte
		refused string
	}{
		"few":            {message(append(other, bytes.Repeat(empty, most)...)), ""},
		"many":           {message(bytes.Repeat(empty, most+1)), "more than 1048576 actions"},
		"many in parts":  {bytes.Repeat(message(empty), most+1), "more than 64 parts"},
		"in a few parts": {bytes.Repeat(message(bytes.Repeat(empty, most/8+1)), 8), "more than 1048576 actions"},
		"of all kinds, one after the other": {
			bytes.Repeat([]byte{1<<3 | 2, 0, 4<<3 | 2, 0}, most), "more than 64 parts",
		},
		"of unknown fields": {message(bytes.Repeat(append([]byte{3<<3 | 2, 18},
			bytes.Repeat([]byte{15 << 3, 1}, 9)...), most)), "more than 8388608 fields"},
		"a failure of unknown fields": {protowire.AppendBytes([]byte{4<<3 | 2},
			bytes.Repeat([]byte{15 << 3, 1}, 8*most+1)), "more than 8388608 fields"},
		"behind a group that ends as another": {append([]byte{9<<3 | 3, 8<<3 | 4},
			message(bytes.Repeat(empty, most+1))...), "end group"},
	} {
		frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(test.raw))), test.raw...)
		m := &policyv1.PolicyMessage{}
		_, err := wire.NewChannel(stream{Reader: bytes.NewReader(frame)}, wire.MaxAnswer).Receive(m)
		if test.refused != "" {
			require.ErrorContains(t, err, test.refused, name)
			require.Nil(t, m.GetMessage(), name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, m.GetDecision().GetJournal(), most)
	}
}

// A slot of one byte becomes twenty when decoded.
func TestAnAnswerWithTooManyPlacesIsNotDecoded(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	inside := func(content []byte, numbers ...protowire.Number) []byte {
		for _, n := range numbers {
			content = protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), content)
		}
		return content
	}
	packed := func(field protowire.Number, n int) []byte { return inside(make([]byte, n), field) }
	for name, test := range map[string]struct {
		placement []byte
		refused   bool
	}{
		"as many as may be":  {packed(1, most-8), false},
		"slots":              {packed(1, most), true},
		"counts":             {packed(2, most), true},
		"slots and counts":   {append(packed(1, most/2), packed(2, most/2)...), true},
		"one by one":         {bytes.Repeat([]byte{1 << 3, 5}, most), true},
		"in parts":           {bytes.Repeat([]byte{1<<3 | 2, 1, 5}, most), true},
		"of several letters": {inside(bytes.Repeat([]byte{0x80, 1}, most), 1), true},
	} {
		raw := inside(test.placement, 5, 3, 2)
		frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(raw))), raw...)
		m := &policyv1.PolicyMessage{}
		_, err := wire.NewChannel(stream{Reader: bytes.NewReader(frame)}, wire.MaxAnswer).Receive(m)
		if test.refused {
			require.ErrorContains(t, err, "more than 4194304 numbers", name)
			require.Nil(t, m.GetMessage(), name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, m.GetDecision().GetJournal()[0].GetPlacement().GetSlots(), most-8)
	}
}
