"""One model as one HTML file that opens by double click: no service, no network."""
