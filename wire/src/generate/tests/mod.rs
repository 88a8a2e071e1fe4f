mod crossing;
mod reading;
mod round_trip;
mod streams;
mod writing;
