package health

import (
	"context"

	"holdfast/engine/chat"
)

// File is one of a support bundle.
type File struct {
	Name string
	Text []byte
}

// BundleInput asks for a support bundle.
type BundleInput struct{}

// BundleOutput is what helps somebody else to find out what is wrong. No secret, prompt or Message is in it.
type BundleOutput struct{ Files []File }

// Pack has what main knows put into a support bundle, beside what a look at everything finds.
func (r *Room) Pack(pack func(ctx context.Context, found []Line) []File) { r.pack = pack }

// Bundle looks at everything and gives it, with what there is of logs, metrics and crashes, as files.
func (r *Room) Bundle(ctx context.Context, p chat.Principal, _ BundleInput) (BundleOutput, error) {
	found, err := r.Doctor(ctx, p, DoctorInput{})
	if err != nil || r.pack == nil {
		return BundleOutput{}, err
	}
	return BundleOutput{Files: r.pack(ctx, found.Lines)}, nil
}
