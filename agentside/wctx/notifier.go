package wctx

import (
	"errors"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// notifier is the system's word about changes in directories. Tests bend it.
type notifier struct {
	events      <-chan fsnotify.Event
	errors      <-chan error
	add, remove func(dir string) error
	close       func() error
}

func realNotifier() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return notifier{}, err
	}
	return notifier{events: w.Events, errors: w.Errors, add: w.Add, remove: w.Remove, close: w.Close}, nil
}

// exhausted: the system has no more watches to give.
func exhausted(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE)
}
