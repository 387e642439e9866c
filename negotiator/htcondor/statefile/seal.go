package statefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// sealName is the bucket with the seal, and the key of the seal in it.
var sealName = []byte("seal")

// seal says what the buckets of a file hold.
type seal struct {
	// Transaction is the one that wrote the seal. If it is not the last one of the file, another
	// program has written since, such as an older version of this one, and the seal is void.
	Transaction int
	Buckets     map[string]*bucketSum
}

// bucketSum is a checksum: the sum of the digests of all records, so that a change of one record
// changes it without a look at the others; and the bucket's last number.
type bucketSum struct{ Records, Last uint64 }

func digest(key, value []byte) uint64 {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)+len(value)), uint64(len(key)))
	sum := sha256.Sum256(append(append(text, key...), value...))
	return binary.BigEndian.Uint64(sum[:])
}

// of returns the checksum of a bucket, to be changed with it; nil if the seal is not to be written.
func (s seal) of(bucket string) *bucketSum {
	if s.Buckets == nil {
		return nil
	}
	if s.Buckets[bucket] == nil {
		s.Buckets[bucket] = &bucketSum{}
	}
	return s.Buckets[bucket]
}

// sealOf makes the seal of the buckets as they are.
func sealOf(tx *bbolt.Tx) (seal, error) {
	s := seal{Buckets: map[string]*bucketSum{}}
	return s, tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if bytes.Equal(name, sealName) {
			return nil
		}
		sum := s.of(string(name))
		sum.Last = b.Sequence()
		return b.ForEach(func(k, v []byte) error {
			sum.Records += digest(k, v)
			return nil
		})
	})
}

// present returns the seal of the buckets as they are, for a transaction that writes.
func present(tx *bbolt.Tx) (seal, error) {
	s, found, err := read(tx)
	if err != nil || found && s.Transaction == tx.ID()-1 {
		return s, err
	}
	return sealOf(tx)
}

// read returns the seal that was written, if there is one.
func read(tx *bbolt.Tx) (s seal, found bool, err error) {
	b := tx.Bucket(sealName)
	if b == nil {
		return s, false, nil
	}
	sum, text, _ := bytes.Cut(b.Get(sealName), []byte(" "))
	if string(sum) != checksum(text) {
		return s, false, fmt.Errorf("%w: the seal of its buckets is broken", ErrDamaged)
	}
	s.Buckets = map[string]*bucketSum{}
	return s, true, json.Unmarshal(text, &s)
}

func (s seal) write(tx *bbolt.Tx) error {
	s.Transaction = tx.ID()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	b, err := tx.CreateBucketIfNotExists(sealName)
	if err != nil {
		return err
	}
	return b.Put(sealName, []byte(checksum(text)+" "+string(text)))
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// broken returns the buckets that are not as they were sealed.
func broken(tx *bbolt.Tx) (map[string]error, error) {
	sealed, found, err := read(tx)
	if err != nil || !found || sealed.Transaction != tx.ID() {
		return nil, err
	}
	now, err := sealOf(tx)
	if err != nil {
		return nil, err
	}
	damaged := map[string]error{}
	for name, written := range sealed.Buckets {
		switch present := now.Buckets[name]; {
		case present == nil && *written == bucketSum{}: // it was only asked for
		case present == nil:
			damaged[name] = fmt.Errorf("%w: bucket %s is missing", ErrDamaged, name)
		case *present != *written:
			damaged[name] = fmt.Errorf("%w: bucket %s does not hold what was written", ErrDamaged, name)
		}
	}
	return damaged, nil
}
