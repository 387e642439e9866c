package cedar

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	ivSize  = 16
	tagSize = 16
	// KeySize is the length of a session key in bytes: AES-256.
	KeySize = 32
)

// seal encrypts or decrypts the frames of one direction with AES-256-GCM. The nonce of frame k is
// the direction's IV with k added to its first four bytes. The additional authenticated data of a
// frame are its header and, for the first frame of a direction, digests of everything that both
// sides sent in plain before.
type seal struct {
	aead    cipher.AEAD
	iv      [ivSize]byte
	count   uint32
	started bool
	before  []byte // the two digests of the plain bytes
	aad     []byte
}

// Encrypt turns on encryption in both directions. It cannot be undone; a second call changes
// nothing. No message may be half written or half read.
func (s *Stream) Encrypt(key []byte) error {
	if s.sealer != nil {
		return nil
	}
	if len(key) != KeySize {
		return fmt.Errorf("a session key of %d bytes: must be %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCMWithNonceSize(block, ivSize)
	if err != nil {
		return err
	}
	if s.sent == nil {
		return errors.New("the stream was to stay plain")
	}
	sent, received := s.sent.Sum(nil), s.received.Sum(nil)
	s.sealer = &seal{aead: aead, before: append(append([]byte{}, sent...), received...)}
	s.opener = &seal{aead: aead, before: append(append([]byte{}, received...), sent...)}
	random := s.Random
	if random == nil {
		random = rand.Reader
	}
	s.out = s.out[:0]
	s.begin() // with room for the IV
	_, err = io.ReadFull(random, s.sealer.iv[:])
	return err
}

// Encrypted reports whether the stream is encrypted.
func (s *Stream) Encrypted() bool { return s.sealer != nil }

// nonce returns the nonce of the next frame.
func (c *seal) nonce() []byte {
	nonce := c.iv
	binary.BigEndian.PutUint32(nonce[:4], binary.BigEndian.Uint32(c.iv[:4])+c.count)
	c.count++
	return nonce[:]
}

// lead is how many bytes the next frame has between its header and its text. There may be no
// encryption.
func (c *seal) lead() int {
	if c == nil || c.started {
		return 0
	}
	return ivSize
}

// seal encrypts the last of some frames in place and returns the frames. Its body begins at an
// index, behind room for a header and lead. last marks the last frame of a message.
func (c *seal) seal(frames []byte, at int, last bool) []byte {
	frames = slices.Grow(frames, tagSize)
	plain, lead := frames[at:], c.lead()
	header := frames[at-lead-headerSize : at-lead]
	putHeader(header, lead+len(plain)+tagSize, last)
	copy(frames[at-lead:at], c.iv[:])
	c.aad = c.aad[:0]
	if !c.started {
		c.aad = append(c.aad, c.before...)
	}
	c.aad = append(c.aad, header...)
	c.started = true
	c.aead.Seal(plain[:0], c.nonce(), plain, c.aad)
	return frames[:len(frames)+tagSize]
}

// open decrypts a frame's body in place. It returns an error if the key differs or the frame was
// changed.
func (c *seal) open(header, body []byte) ([]byte, error) {
	c.aad = c.aad[:0]
	if !c.started {
		if len(body) < ivSize {
			return nil, errors.New("an encrypted frame is too short")
		}
		copy(c.iv[:], body)
		body = body[ivSize:]
		c.aad = append(c.aad, c.before...)
	}
	if len(body) <= tagSize {
		return nil, errors.New("an encrypted frame is too short")
	}
	c.started = true
	c.aad = append(c.aad, header...)
	plain, err := c.aead.Open(body[:0], c.nonce(), body, c.aad)
	if err != nil {
		return nil, errors.New("a frame cannot be decrypted: the key is another, or somebody has changed it")
	}
	return plain, nil
}
