package security

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"io"
)

// draw fills b with random bytes; if random is nil they come from the system.
func draw(random io.Reader, b []byte) error {
	if random == nil {
		random = rand.Reader
	}
	_, err := io.ReadFull(random, b)
	return err
}

// newECDH draws a private key for one handshake.
func newECDH(random io.Reader) (*ecdh.PrivateKey, error) {
	var b [32]byte
	for {
		if err := draw(random, b[:]); err != nil {
			return nil, err
		}
		// About one number in 2³² is not a valid key.
		if key, err := ecdh.P256().NewPrivateKey(b[:]); err == nil {
			return key, nil
		}
	}
}

// newNonce returns a random text that makes the unencrypted part of a handshake unique; encrypted
// frames authenticate that part later.
func newNonce(random io.Reader) (string, error) {
	var b [33]byte
	err := draw(random, b[:])
	return base64.StdEncoding.EncodeToString(b[:]), err
}
