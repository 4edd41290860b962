package client

import (
	"context"
	"net/http"
	"net/url"
)

// Doctor is what a look at everything found.
type Doctor struct {
	Checks []DoctorCheck `json:"checks"`
}

// DoctorCheck is one thing that was looked at. State is ok, warning, failed or skipped, which is never ok; Do is what to do about it.
type DoctorCheck struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

// Doctor has the appliance look at everything (admin). deep reads every record of the store.
func (c *Client) Doctor(ctx context.Context, deep bool) (Doctor, error) {
	query := url.Values{}
	if deep {
		query.Set("deep", "true")
	}
	var out Doctor
	return out, c.call(ctx, http.MethodGet, "/system/doctor", query, nil, &out)
}
