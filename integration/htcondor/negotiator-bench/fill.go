package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// fill puts fake slots into the collector at an address: copies of a real slot's ad with names of
// their own, each with a private ad that holds a claim id. Busy ones run jobs that are in no queue
// here. The pool must let everyone on loopback advertise (SECURITY=host).
func fill(address, ad string, slots int, busy bool) error {
	var lines []string
	for line := range strings.Lines(ad) {
		name, _, ok := strings.Cut(line, " = ")
		switch {
		case !ok:
		case busy && (name == "State" || name == "Activity"):
		case name == "Name", name == "Machine", name == "MyAddress", name == "StartdIpAddr", name == "AddressV1":
		default:
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	defer func() { _ = connection.Close() }()
	out := bufio.NewWriterSize(connection, 1<<16)
	for i := range slots {
		where := fmt.Sprintf(`"<127.0.0.1:%d?addrs=127.0.0.1-%d&noUDP&sock=fake%d>"`, 20000+i, 20000+i, i)
		identity := []string{
			fmt.Sprintf(`Name = "slot1@fake%05d.pool.test"`, i), fmt.Sprintf(`Machine = "fake%05d.pool.test"`, i),
			"MyAddress = " + where, "StartdIpAddr = " + where,
		}
		public := append(slices.Clone(identity), "Fake = True")
		if busy {
			public = append(public, `State = "Claimed"`, `Activity = "Busy"`, `RemoteUser = "bob@pool.test"`,
				`RemoteOwner = "bob@pool.test"`,
				fmt.Sprintf(`JobId = "%d.0"`, 1+i), fmt.Sprintf(`GlobalJobId = "away.test#%d.0#1"`, 1+i),
				fmt.Sprintf("JobStart = %d", time.Now().Unix()-int64(i%1800)))
		}
		var m message
		m.number(0) // UPDATE_STARTD_AD
		m.ad(append(public, lines...))
		m.ad(append(identity, `MyType = "Machine"`, fmt.Sprintf(`ClaimId = "<127.0.0.1:%d>#1#%d#[]none"`, 20000+i, i)))
		if err := m.send(out); err != nil {
			return fmt.Errorf("fake slot %d: %w", i, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("fake slots: %w", err)
	}
	return nil
}

// message is a message of HTCondor's wire protocol, without security.
type message []byte

func (m *message) number(n int64)   { *m = binary.BigEndian.AppendUint64(*m, uint64(n)) }
func (m *message) text(text string) { *m = append(append(*m, text...), 0) }

func (m *message) ad(lines []string) {
	m.number(int64(len(lines)))
	for _, line := range append(lines, "", "") {
		m.text(line)
	}
}

// send writes the message in frames, as HTCondor does: a byte that marks the last frame, and the
// length.
func (m message) send(w io.Writer) error {
	const body = 4096 - 5
	for len(m) > 0 {
		part := m[:min(body, len(m))]
		m = m[len(part):]
		header := []byte{0, 0, 0, 0, 0}
		if len(m) == 0 {
			header[0] = 1
		}
		binary.BigEndian.PutUint32(header[1:], uint32(len(part)))
		if _, err := w.Write(append(header, part...)); err != nil {
			return err
		}
	}
	return nil
}
