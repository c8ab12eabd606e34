"""Forms in which others read a study: a module each, which a row of `reports.exchange.EXPORTS` names."""
