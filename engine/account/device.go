package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// A browser in which somebody has signed in keeps a mark of it. The mark lets nobody in; it only makes that browser a source of its own,
// so that those who guess from the same address cannot keep its owner out.

// deviceKeyName is the site value that holds the key of the marks.
const deviceKeyName = "account.device_key"

const (
	deviceNonce = 16
	deviceSize  = deviceNonce + sha256.Size
)

// deviceKey gives the key of the marks, nil where none was made yet.
func deviceKey(tx *kv.Tx) ([]byte, error) {
	var key []byte
	_, err := tx.Site(deviceKeyName, &key)
	return key, err
}

// markDevice makes a mark for a browser of this user.
func markDevice(tx *kv.Tx, user chat.UserID) (string, error) {
	key, err := deviceKey(tx)
	if err != nil {
		return "", err
	}
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		rand.Read(key)
		if err := tx.PutSite(deviceKeyName, key); err != nil {
			return "", err
		}
	}
	nonce := make([]byte, deviceNonce)
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(append(nonce, deviceSum(key, user, nonce)...)), nil
}

// deviceOf gives a name for the browser with this mark, "" when the mark is none of ours for this user.
func deviceOf(key []byte, user chat.UserID, mark string) string {
	b, err := base64.RawURLEncoding.DecodeString(mark)
	if err != nil || len(b) != deviceSize || len(key) == 0 || user == "" {
		return ""
	}
	if !hmac.Equal(b[deviceNonce:], deviceSum(key, user, b[:deviceNonce])) {
		return ""
	}
	return string(b[:deviceNonce])
}

func deviceSum(key []byte, user chat.UserID, nonce []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(user))
	h.Write(nonce)
	return h.Sum(nil)
}
