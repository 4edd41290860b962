module github.com/aymerick/douceur

go 1.26.0
