package kv

import (
	"bytes"
	"errors"
	"strings"

	"holdfast/engine/chat"
)

// Secrets are sealed bytes in the site configuration, under names that say whose they are; what seals them uses the same name, so that
// bytes moved to another name do not open.

const secretPrefix = "secret/"

// ModelConfigSecret is the name of a secret that belongs to a Model config.
func ModelConfigSecret(id chat.ModelConfigID) string { return modelConfigSecrets + string(id) }

const modelConfigSecrets = "modelconfig/"

// Secret gives the sealed bytes of a name.
func (x *Tx) Secret(name string) ([]byte, bool, error) {
	var sealed []byte
	found, err := x.Site(secretPrefix+name, &sealed)
	return sealed, found, err
}

// SecretNames gives the names of all secrets.
func (x *Tx) SecretNames() ([]string, error) {
	var names []string
	err := x.t.scan(bSite, []byte(secretPrefix), nil, func(r row) (bool, error) {
		names = append(names, string(r.key[len(secretPrefix):]))
		return true, nil
	})
	return names, err
}

// PutSecret writes the sealed bytes of a name; nil removes them. Only what is sealed may come here.
func (x *Tx) PutSecret(name string, sealed []byte) error {
	if name == "" {
		return errors.New("kv: a secret without a name")
	}
	if len(sealed) == 0 {
		return x.PutSite(secretPrefix+name, nil)
	}
	return x.PutSite(secretPrefix+name, sealed)
}

// siteValue reports a secret that is empty, or whose Model config is gone.
func (c *checker) siteValue(key []byte, r record) {
	name, secret := bytes.CutPrefix(key, []byte(secretPrefix))
	if !secret {
		checkJSON[any](c, bSite, key, r)
		return
	}
	if sealed := checkJSON[[]byte](c, bSite, key, r); sealed != nil && len(*sealed) == 0 {
		c.add(bSite, key, "the secret is empty")
	}
	id, owned := strings.CutPrefix(string(name), modelConfigSecrets)
	bucket, what := bModelConfig, "a model config"
	if !owned {
		id, owned = strings.CutPrefix(string(name), mcpServerSecrets)
		id, _, _ = strings.Cut(id, "/")
		bucket, what = bMCPServer, "an MCP server"
	}
	if !owned {
		return
	}
	owner, err := parseID(id)
	if err != nil {
		c.add(bSite, key, "the secret belongs to %q, which is no id", id)
		return
	}
	old, err := c.tx.t.raw(bucket, owner[:])
	if c.damage(err) {
		return
	}
	if old == nil {
		c.add(bSite, key, "the secret belongs to %s that is gone", what)
	}
}
