package kv

import (
	"slices"
	"strings"

	"holdfast/engine/chat"
)

var (
	mcpServerFields = fieldsOf[chat.MCPServer]()
	mcpPinsFields   = fieldsOf[chat.MCPPins]()
)

// Names of the secrets of an MCP server's config; a sign-in belongs to a person as well.
func MCPServerSecret(id chat.MCPServerID, field string) string {
	return mcpServerSecrets + string(id) + "/" + field
}

// MCPUserSecret is the name of a person's sign-in at an MCP server.
func MCPUserSecret(id chat.MCPServerID, user chat.UserID) string {
	return MCPServerSecret(id, "user/"+string(user))
}

const (
	mcpServerSecrets = "mcpserver/"
	signInSecrets    = "signin/"
)

// SignInSecret is the name of a sign-in under way.
func SignInSecret(rest string) string { return signInSecrets + rest }

// SignInSecrets gives the names of all sign-ins under way.
func (x *Tx) SignInSecrets() ([]string, error) {
	all, err := x.SecretNames()
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, signInSecrets) }), err
}

// EndSignIns forgets a person's sign-ins under way at MCP servers.
func (x *Tx) EndSignIns(user chat.UserID) error {
	all, err := x.SignInSecrets()
	if err != nil {
		return err
	}
	for _, name := range all {
		if !strings.Contains(name, "/"+string(user)+"/") {
			continue
		}
		if err := x.PutSecret(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// deleteMCPSignIns removes all of a person's sign-ins at MCP servers, those under way as well.
func (x *Tx) deleteMCPSignIns(user chat.UserID) error {
	all, err := x.SecretNames()
	if err != nil {
		return err
	}
	for _, name := range all {
		whose := strings.HasPrefix(name, mcpServerSecrets) && strings.HasSuffix(name, "/user/"+string(user)) ||
			strings.HasPrefix(name, signInSecrets) && strings.Contains(name, "/"+string(user)+"/")
		if !whose {
			continue
		}
		if err := x.PutSecret(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// MCPServer gives the config of an MCP server.
func (x *Tx) MCPServer(id chat.MCPServerID) (*chat.MCPServer, bool, error) {
	return getByID[chat.MCPServer](x, bMCPServer, id)
}

// PutMCPServer writes the config of an MCP server.
func (x *Tx) PutMCPServer(s *chat.MCPServer) error {
	key, err := idKey(s.ID)
	if err != nil {
		return err
	}
	// Before the commit: who sees the record sees this.
	x.s.holds.servers.Store(true)
	return putNoun(x, bMCPServer, key, s, mcpServerFields)
}

// MCPServers gives all configs of MCP servers, oldest first.
func (x *Tx) MCPServers() ([]*chat.MCPServer, error) {
	return listNoun[chat.MCPServer](x, bMCPServer, nil)
}

// DeleteMCPServer removes a config with its pins, its secrets and all sign-ins, and says whether there was one.
func (x *Tx) DeleteMCPServer(id chat.MCPServerID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	if err := x.DeleteMCPSecrets(id, ""); err != nil {
		return false, err
	}
	if _, err := deleteNoun(x, bMCPPins, key); err != nil {
		return false, err
	}
	return deleteNoun(x, bMCPServer, key)
}

// DeleteMCPSecrets removes the secrets of a config whose names begin with field; "" is all, "user/" all sign-ins.
func (x *Tx) DeleteMCPSecrets(id chat.MCPServerID, field string) error {
	prefix := []byte(secretPrefix + MCPServerSecret(id, field))
	for {
		n, err := x.t.deletePrefix(bSite, prefix, nil, 100)
		if err != nil || n == 0 {
			return err
		}
	}
}

// MCPPins gives what is known of a server's tools; without a record it is empty.
func (x *Tx) MCPPins(id chat.MCPServerID) (*chat.MCPPins, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	p, found, err := getNoun[chat.MCPPins](x, bMCPPins, key)
	if !found {
		p = &chat.MCPPins{ServerID: id}
	}
	return p, err
}

// PutMCPPins writes what is known of a server's tools.
func (x *Tx) PutMCPPins(p *chat.MCPPins) error {
	key, err := idKey(p.ServerID)
	if err != nil {
		return err
	}
	return putNoun(x, bMCPPins, key, p, mcpPinsFields)
}

// mcpServers holds configs and pins against their keys, and pins against their configs.
func (c *checker) mcpServers() error {
	err := c.each(bMCPServer, func(key []byte, r record) {
		v := checkJSON[chat.MCPServer](c, bMCPServer, key, r)
		c.named(bMCPServer, key, idText(v, func(s *chat.MCPServer) string { return string(s.ID) }))
	})
	if err != nil {
		return err
	}
	return c.each(bMCPPins, func(key []byte, r record) {
		v := checkJSON[chat.MCPPins](c, bMCPPins, key, r)
		c.named(bMCPPins, key, idText(v, func(p *chat.MCPPins) string { return string(p.ServerID) }))
		if old, err := c.tx.t.raw(bMCPServer, key); !c.damage(err) && old == nil {
			c.add(bMCPPins, key, "the pins belong to an MCP server that is gone")
		}
	})
}
