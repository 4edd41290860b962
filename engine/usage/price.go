package usage

import (
	"math"
	"math/big"

	"holdfast/engine/chat"
)

// CostMicros prices a call by the config's decimal prices per million tokens: exact, rounded up once at the end. Reasoning is part of the
// output, what was read from a cache part of the input with a price of its own. nil: a category that was used has no price.
func CostMicros(m chat.ModelConfig, u chat.Usage) *int64 {
	if m.PriceInput == nil && m.PriceOutput == nil {
		return nil
	}
	sum := new(big.Rat)
	add := func(tokens int64, price *string) bool {
		if tokens <= 0 {
			return true
		}
		if price == nil {
			return false
		}
		p, ok := new(big.Rat).SetString(*price)
		if !ok {
			return false
		}
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt64(tokens)))
		return true
	}
	cached := count(u.CacheReadTokens)
	if !add(count(u.InputTokens)-cached, m.PriceInput) || !add(count(u.OutputTokens), m.PriceOutput) || !add(cached, m.PriceCached) {
		return nil
	}
	up := new(big.Int).Add(sum.Num(), new(big.Int).Sub(sum.Denom(), big.NewInt(1)))
	micros := int64(math.MaxInt64)
	if up.Quo(up, sum.Denom()); up.IsInt64() {
		micros = up.Int64()
	}
	return &micros
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
